// `npm run installs`: packs the packages, publishes them to a local registry, installs them in empty projects in every usual way, uses
// them, and writes docs/installs.md. Needs builds, npm's registry and Linux on x64. Takes about ten minutes; `npm run test:all` draws a slice.
// `node tools/installs.mjs types electron/refusal`: these parts or cases alone; `--slice 2`: this slice; neither writes the page.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cases, casesOf, sliceOf } from './installs/cases.mjs';
import { registryAnswers, upstream } from './installs/network.mjs';
import { secondsOf, sliceCount } from './installs/slices.mjs';
import { counts, skip, writeTable } from './installs/table.mjs';
import { work } from './installs/work.mjs';
import { processorSeconds } from './lanes.mjs';
import { packAll } from './packed/pack.mjs';
import { serve } from './packed/registry.mjs';

const { values, positionals } = parseArgs({ options: { slice: { type: 'string' } }, allowPositionals: true });
const isWhole = values.slice === undefined && positionals.length === 0;

const words = `What was installed from a registry on this machine and then used, on Linux x64, ${new Date().toISOString().slice(0, 10)}: every install
with the scripts of packages turned off. "pass": each program printed what it should. Otherwise the reason, or the sentence that a user
reads. A row stands here only if it ran.`;

function chosenCases() {
  if (isWhole) return cases;
  if (positionals.length > 0) return casesOf(positionals);
  const slice = sliceOf(Number(values.slice));
  console.log(
    `slice ${values.slice} of 0 to ${sliceCount - 1}, about ${secondsOf(slice)} s: ${slice.map(({ name }) => name).join(', ')}`,
  );
  console.log(`again: node tools/installs.mjs --slice ${values.slice}`);
  return slice;
}

/** Prints what it took, beside what cases.mjs says. */
async function runCase({ name, seconds, act }, context) {
  const before = processorSeconds();
  await act(context);
  const took = (processorSeconds() - before).toFixed(1);
  console.log(`  ${name}: ${took} s of a processor (alone, as measured: ${seconds})`);
}

/** Without the registry each install would fail, after minutes of retries. */
async function main(chosen) {
  try {
    if (await registryAnswers()) await install(chosen);
    else for (const { name } of chosen) skip({ project: name }, `${upstream} does not answer npm`);
  } finally {
    if (!process.env.QUERN_KEEP) rmSync(work, { recursive: true, force: true });
  }
}

async function install(chosen) {
  const packs = join(work, 'packs');
  mkdirSync(packs);
  const tarballs = packAll(packs);
  const registry = await serve(packs, upstream);
  try {
    for (const each of chosen) await runCase(each, { origin: registry.origin, upstream, packs, tarballs });
  } finally {
    registry.close();
  }
}

await main(chosenCases());
const { passed, failed, skipped } = counts();
if (isWhole && skipped === 0) writeTable(words);
if (isWhole && skipped > 0)
  console.log(`docs/installs.md stays as it is: ${skipped} rows or cases were skipped`);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed === 0 && passed + skipped > 0 ? 0 : 1;
