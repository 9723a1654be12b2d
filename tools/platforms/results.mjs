// What is known of the addons of each platform: results.json, written by `node tools/platforms.mjs --test`.
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('results.json', import.meta.url);

export const readResults = () => JSON.parse(readFileSync(file, 'utf8'));

/** Replaces the result of one addon. */
export function keepResult(name, platform, result) {
  const all = readResults();
  all[platform] = { ...all[platform], [name]: result };
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
}
