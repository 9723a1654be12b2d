// The programs of docs/guide: each `ts` block, with the following `text` block as its output.
import { readdirSync, readFileSync } from 'node:fs';

const guide = new URL('../../docs/guide/', import.meta.url);

/** Blocks of one page, in order: `{ name, source, output }`; output undefined: not shown. */
export function blocksOf(page, text) {
  const found = [...text.matchAll(/^```ts\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?/gms)];
  return found.map(([, source, output], i) => ({ name: `${page}-${i + 1}`, source, output }));
}

/** All blocks of the guide. */
export const guideBlocks = () =>
  readdirSync(guide)
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => blocksOf(file.slice(0, -'.md'.length), readFileSync(new URL(file, guide), 'utf8')));
