// `npm run installs`: packs the packages, publishes them to a local registry, installs them in empty projects in every usual way, uses
// them, and writes docs/installs.md. `node tools/installs.mjs managers bundlers`: these parts alone, and no file. Needs builds, npm's
// registry and Linux on x64. Takes about ten minutes: neither `npm test` nor CI calls it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkAlone } from './installs/alone.mjs';
import { checkBundlers } from './installs/bundlers.mjs';
import { checkElectron } from './installs/electron.mjs';
import { checkManagers } from './installs/managers.mjs';
import { rows, writeTable } from './installs/table.mjs';
import { fetchTools } from './installs/tools.mjs';
import { checkTypes } from './installs/types.mjs';
import { checkVersions } from './installs/versions.mjs';
import { work } from './installs/work.mjs';
import { packAll } from './packed/pack.mjs';
import { serve } from './packed/registry.mjs';

const parts = {
  managers: checkManagers,
  alone: checkAlone,
  bundlers: checkBundlers,
  types: checkTypes,
  versions: checkVersions,
  electron: checkElectron,
};
const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in parts));
if (unknown.length > 0)
  throw new Error(`no part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`);

const words = `What was installed from a registry on this machine and then used, on Linux x64, ${new Date().toISOString().slice(0, 10)}: every install
with the scripts of packages turned off. "pass": each program printed what it should. Otherwise the reason, or the sentence that a user
reads. A row stands here only if it ran.`;
const upstream = execFileSync('npm', ['config', 'get', 'registry']).toString().trim();

async function main() {
  const packs = join(work, 'packs');
  mkdirSync(packs);
  const tarballs = packAll(packs);
  const registry = await serve(packs, upstream);
  try {
    const tools = await fetchTools(upstream, registry.origin);
    const context = { ...tools, origin: registry.origin, upstream, packs, tarballs };
    for (const [name, check] of Object.entries(parts))
      if (chosen.length === 0 || chosen.includes(name)) await check(context);
    if (chosen.length === 0) writeTable(words);
  } finally {
    registry.close();
    if (!process.env.QUERN_KEEP) rmSync(work, { recursive: true, force: true });
  }
}

await main();
const failed = rows.filter((row) => row.failed).length;
console.log(`${rows.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 && rows.length > 0 ? 0 : 1;
