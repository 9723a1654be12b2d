// A release by hand; .github/workflows/release.yml runs the same program. Build first; binaries of other platforms go to
// artifacts/NAME/PLATFORM/ (tools/stage-prebuilds.mjs).
//   node tools/release.mjs --dry-run          packs everything, publishes it to a registry on loopback, checks what is there
//   node tools/release.mjs --registry URL     publishes what that registry lacks, and checks it
//   node tools/release.mjs --names            names of all packages, in the order of publication
//   node tools/release.mjs --pending          whether npm's registry lacks a version of this workspace: prints true or false
// --without-binaries: leaves out platform packages without a binary that fits, which otherwise end the release before it begins.
// --staged: `npm stage publish`, which a person approves. --provenance: in continuous integration. --tag: instead of latest.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { binaryFault } from './check-binary.mjs';
import { packAll } from './packed/pack.mjs';
import { serve } from './packed/registry.mjs';
import { isLoopback, missingFrom, publishAll, repositoryFault, verify, withNpm } from './release/publish.mjs';
import { inOrder, libraries, platformPackages } from './release/workspace.mjs';

const npmRegistry = 'https://registry.npmjs.org/';

const { values: flags } = parseArgs({
  options: {
    'dry-run': { type: 'boolean' },
    names: { type: 'boolean' },
    pending: { type: 'boolean' },
    registry: { type: 'string' },
    'without-binaries': { type: 'boolean' },
    staged: { type: 'boolean' },
    provenance: { type: 'boolean' },
    tag: { type: 'string' },
  },
});

/** The tarball that pnpm makes of a package: quern-core-0.1.0.tgz. */
const tarballName = ({ name, version }) => `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;

/** Platform packages with their binaries. Throws where some have none, unless those are left out. */
async function builtPlatforms() {
  const all = platformPackages();
  const faults = await Promise.all(all.map(({ folder, manifest }) => binaryFault(folder, manifest)));
  const found = faults.filter((fault) => fault !== undefined);
  for (const fault of found) console.error(fault);
  if (found.length > 0 && !flags['without-binaries'])
    throw new Error(
      `${found.length} platform packages cannot be published. --without-binaries leaves them out`,
    );
  return all.filter((_, i) => faults[i] === undefined);
}

/** All packages with their tarballs, in order of publication. */
async function packed(folder) {
  packAll(folder); // stages binaries
  const packages = [...libraries(), ...(await builtPlatforms())];
  return inOrder(packages).map((each) => ({ ...each, tarball: join(folder, tarballName(each.manifest)) }));
}

const bytesOf = ({ tarball }) => statSync(tarball).size;

async function publishTo(registry, packages) {
  const fault = isLoopback(registry) ? undefined : repositoryFault(packages);
  if (fault) throw new Error(fault);
  await withNpm(registry, async (npm) => {
    const added = await publishAll(npm, packages, flags, console.log);
    const faults = flags.staged ? [] : await verify(npm, added);
    if (faults.length > 0) throw new Error(faults.join('\n'));
    const bytes = added.reduce((sum, each) => sum + bytesOf(each), 0);
    console.log(
      `${added.length} of ${packages.length} packages, ${(bytes / 1e6).toFixed(1)} MB: ${registry}`,
    );
  });
}

async function release() {
  const folder = mkdtempSync(join(tmpdir(), 'quern-release-'));
  const local = flags['dry-run'] ? await serve() : undefined;
  try {
    await publishTo(local?.origin ?? flags.registry, await packed(folder));
  } finally {
    local?.close();
    rmSync(folder, { recursive: true });
  }
}

/** Binaries are built only where something is to be published. */
async function printPending() {
  const all = [...libraries(), ...platformPackages()];
  const missing = await withNpm(flags.registry ?? npmRegistry, (npm) => missingFrom(npm, all));
  console.error(missing.map(({ manifest }) => `${manifest.name}@${manifest.version}`).join('\n'));
  console.log(missing.length > 0);
}

const names = () => inOrder([...libraries(), ...platformPackages()]).map(({ manifest }) => manifest.name);

async function act() {
  if (flags.names) console.log(names().join('\n'));
  else if (flags.pending) await printPending();
  else if (flags['dry-run'] || flags.registry) await release();
  else throw new Error('choose --dry-run, --registry URL, --names or --pending');
}

try {
  await act();
} catch (error) {
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}
