// Copies each built addon into its platform package: from artifacts/<package>/<target>/ (continuous integration), or
// from the package's build folder (cross-built targets in subfolders, this machine's also directly: the newer file), without the names of
// functions, which are 7 % of an addon by g++. Refuses an addon of backend-cuda without kernels or larger than a package may be, and then ends with 1.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { faultOfAddon } from './gpu-addon.mjs';
import { addonFile, addons, platformHere } from './platforms/platforms.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const here = platformHere();

/** Copies the addon, or says why there is none. */
function stage(name, target, source, to) {
  if (!source) return 'no binary';
  const fault = name === 'backend-cuda' ? faultOfAddon(source) : undefined;
  if (fault) {
    rmSync(to, { force: true }); // an older one
    process.exitCode = 1;
    console.error(`refused: ${fault}`);
    return 'no binary';
  }
  copyFileSync(source, to);
  if (target.startsWith('linux')) spawnSync('strip', [to], { stdio: 'ignore' });
  return source;
}

/** The artifact, else the newest build of the addon for a target. */
function sourceOf(name, target) {
  const [folder, file] = [join(root, 'packages', name), addonFile(name)];
  const artifact = join(root, 'artifacts', name, target, file);
  if (existsSync(artifact)) return artifact;
  const builds = [join(folder, 'build', target, 'Release', file)];
  if (target === here) builds.push(join(folder, 'build/Release', file));
  return builds.filter(existsSync).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
}

for (const [name, targets] of Object.entries(addons))
  for (const target of targets) {
    const to = join(root, 'packages', name, 'npm', target, addonFile(name));
    console.log(`${name}-${target}: ${stage(name, target, sourceOf(name, target), to)}`);
  }
