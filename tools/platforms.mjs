// Builds the addons for all platforms on one Linux machine, with Zig's clang, and puts them into the platform packages.
//   node tools/platforms.mjs                        backend-cpu and quant for every platform
//   node tools/platforms.mjs quant linux-x64-musl   some packages, some platforms
//   node tools/platforms.mjs --packages             writes the package.json of the platform packages (tools/platforms/platforms.mjs)
import { parseArgs } from 'node:util';
import { buildAddon, stage } from './platforms/build.mjs';
import { writePlatformFiles } from './platforms/packages.mjs';
import { addons, platforms } from './platforms/platforms.mjs';
import { zigFault } from './platforms/zig.mjs';

/** Packages that Zig alone compiles. */
const built = ['backend-cpu', 'quant'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { packages: { type: 'boolean' } },
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

function buildAll() {
  const unknown = positionals.find((name) => !built.includes(name) && !(name in platforms));
  if (unknown)
    fail(`'${unknown}' is neither of ${built.join(', ')} nor of ${Object.keys(platforms).join(', ')}`);
  const fault = zigFault();
  if (fault) fail(fault);
  for (const name of chosen(built))
    for (const platform of chosen(addons[name]))
      console.log(stage(name, platform, buildAddon(name, platform)));
}

if (values.packages) writePlatformFiles();
else buildAll();
