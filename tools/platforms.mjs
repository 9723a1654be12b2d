// Builds the addons for all platforms on one Linux machine, with Zig's clang, and puts them into the platform packages.
//   node tools/platforms.mjs                        backend-cpu, quant and backend-metal for all their platforms
//   node tools/platforms.mjs quant linux-x64-musl   some packages, some platforms
//   node tools/platforms.mjs backend-cuda           needs nvcc, and 20 minutes for the kernels, which all platforms share
//   node tools/platforms.mjs --test [names]         runs what was built, and keeps the results (tools/platforms/results.json)
//   node tools/platforms.mjs --table [--check]      writes docs/platforms.md from the results, or fails if the page is another
//   node tools/platforms.mjs --packages             writes the package.json of the platform packages (tools/platforms/platforms.mjs)
import { parseArgs } from 'node:util';
import { buildAddon, stage } from './platforms/build.mjs';
import { writePlatformFiles } from './platforms/packages.mjs';
import { addons, platforms } from './platforms/platforms.mjs';
import { isCurrent, writePage } from './platforms/table.mjs';
import { zigFault } from './platforms/zig.mjs';

const packages = Object.keys(addons);
/** Packages that Zig alone compiles. */
const byZig = packages.filter((name) => name !== 'backend-cuda');

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

const asked = (names) => names.filter((name) => positionals.includes(name));

/** [package, platform] of the arguments; without a package, of `usual` ones. */
function pairs(usual) {
  const unknown = positionals.find((name) => !packages.includes(name) && !(name in platforms));
  if (unknown)
    fail(`'${unknown}' is neither of ${packages.join(', ')} nor of ${Object.keys(platforms).join(', ')}`);
  const [names, wanted] = [asked(packages), asked(Object.keys(platforms))];
  const isWanted = (platform) => wanted.length === 0 || wanted.includes(platform);
  const all = (names.length > 0 ? names : usual).flatMap((name) =>
    addons[name].filter(isWanted).map((platform) => [name, platform]),
  );
  if (all.length === 0)
    fail(
      `${names.join(', ')} has no binary for ${wanted.join(', ')}, only for ${names.map((name) => addons[name].join(', ')).join('; ')}`,
    );
  return all;
}

function buildAll() {
  const all = pairs(byZig);
  const fault = zigFault();
  if (fault) fail(fault);
  for (const [name, platform] of all)
    try {
      console.log(stage(name, platform, buildAddon(name, platform)));
    } catch (error) {
      fail(error.message); // an addon that may not be published
    }
}

/** Tests and page read addons by native-runtime's build. */
async function testAll() {
  const { test } = await import('./platforms/test.mjs');
  for (const [name, platform] of pairs(packages)) await test(name, platform);
}

function checkPage() {
  if (!isCurrent()) fail('docs/platforms.md is not that of the results: node tools/platforms.mjs --table');
}

if (values.packages) writePlatformFiles();
else if (values.table && values.check) checkPage();
else if (values.table) writePage();
else if (values.test) await testAll();
else buildAll();
