// Builds the addons for all platforms on one Linux machine, with Zig's clang, and puts them into the platform packages.
//   node tools/platforms.mjs                        backend-cpu and quant for every platform
//   node tools/platforms.mjs quant linux-x64-musl   some packages, some platforms
//   node tools/platforms.mjs --test [names]         runs what was built, and keeps the results (tools/platforms/results.json)
//   node tools/platforms.mjs --table [--check]      writes docs/platforms.md from the results, or fails if the page is another
//   node tools/platforms.mjs --packages             writes the package.json of the platform packages (tools/platforms/platforms.mjs)
import { parseArgs } from 'node:util';
import { buildAddon, stage } from './platforms/build.mjs';
import { writePlatformFiles } from './platforms/packages.mjs';
import { addons, platforms } from './platforms/platforms.mjs';
import { isCurrent, writePage } from './platforms/table.mjs';
import { zigFault } from './platforms/zig.mjs';

/** Packages that Zig alone compiles. */
const built = ['backend-cpu', 'quant'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    packages: { type: 'boolean' },
    test: { type: 'boolean' },
    table: { type: 'boolean' },
    check: { type: 'boolean' },
  },
});

function fail(text) {
  console.error(`platforms: ${text}`);
  process.exit(1);
}

/** Those of `names` among the arguments; all, if none is. */
function chosen(names) {
  const asked = names.filter((name) => positionals.includes(name));
  return asked.length > 0 ? asked : names;
}

/** [package, platform] of the arguments. */
function pairs() {
  const unknown = positionals.find((name) => !built.includes(name) && !(name in platforms));
  if (unknown)
    fail(`'${unknown}' is neither of ${built.join(', ')} nor of ${Object.keys(platforms).join(', ')}`);
  return chosen(built).flatMap((name) => chosen(addons[name]).map((platform) => [name, platform]));
}

function buildAll() {
  const all = pairs();
  const fault = zigFault();
  if (fault) fail(fault);
  for (const [name, platform] of all) console.log(stage(name, platform, buildAddon(name, platform)));
}

/** Tests and page read addons by native-runtime's build. */
async function testAll() {
  const { test } = await import('./platforms/test.mjs');
  for (const [name, platform] of pairs()) await test(name, platform);
}

function checkPage() {
  if (!isCurrent()) fail('docs/platforms.md is not that of the results: node tools/platforms.mjs --table');
}

if (values.packages) writePlatformFiles();
else if (values.table && values.check) checkPage();
else if (values.table) writePage();
else if (values.test) await testAll();
else buildAll();
