// Runs before a platform package is published: refuses a package without its binary; one whose binary is for another system, or needs more
// of it than other packages do; and one for NVIDIA's GPUs without kernels or too large.
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { faultOfAddon } from './gpu-addon.mjs';
import { faultOfFacts } from './platforms/faults.mjs';

async function fault(folder, name, file) {
  const path = join(folder, file);
  if (!existsSync(path)) return `${file} has not been built`;
  const ofKernels = name.includes('backend-cuda') ? faultOfAddon(path) : undefined;
  if (ofKernels) return ofKernels;
  const { inspectBinary } = await import('../packages/native-runtime/dist/index.js');
  const found = faultOfFacts(inspectBinary(path), basename(folder));
  return found && `${file}: ${found}; one that fits: node tools/platforms.mjs`;
}

/** Why the platform package in a folder, which has the platform's name, cannot be published; undefined: it can. */
export async function binaryFault(folder, { name, files }) {
  const all = await Promise.all(files.map((file) => fault(folder, name, file)));
  const faults = all.filter((found) => found !== undefined);
  return faults.length > 0 ? `${name}: ${faults.join(', ')}: this package is not published` : undefined;
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const found = await binaryFault(process.cwd(), JSON.parse(readFileSync('package.json', 'utf8')));
  if (found) {
    console.error(found);
    process.exit(1);
  }
}
