// Copies each built addon into its platform package: from artifacts/<package>/<target>/ (continuous integration), or
// from the package's build folder (this machine's target directly, cross-built targets in subfolders). Refuses an addon
// of backend-cuda without kernels or larger than a package may be, and then ends with 1.
import { copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { faultOfAddon } from './gpu-addon.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const libc = () => (process.report.getReport().header.glibcVersionRuntime ? '-gnu' : '-musl');
const here = `${process.platform}-${process.arch}${process.platform === 'linux' ? libc() : ''}`;

/** Copies the addon, or says why there is none. */
function stage(name, source, to) {
  if (!source) return 'no binary';
  const fault = name === 'backend-cuda' ? faultOfAddon(source) : undefined;
  if (fault) {
    rmSync(to, { force: true }); // an older one
    process.exitCode = 1;
    console.error(`refused: ${fault}`);
    return 'no binary';
  }
  copyFileSync(source, to);
  return source;
}

for (const name of ['backend-cpu', 'backend-cuda', 'backend-metal', 'quant']) {
  const folder = join(root, 'packages', name);
  const file = `${name.replaceAll('-', '_')}.node`;
  for (const target of readdirSync(join(folder, 'npm'))) {
    const sources = [
      join(root, 'artifacts', name, target, file),
      join(folder, 'build', target, 'Release', file),
    ];
    if (target === here) sources.push(join(folder, 'build/Release', file));
    const staged = stage(name, sources.find(existsSync), join(folder, 'npm', target, file));
    console.log(`${name}-${target}: ${staged}`);
  }
}
