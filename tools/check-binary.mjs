// Runs before a platform package is published: refuses a package without its binary; one whose binary is for another system, or needs more
// of it than other packages do; and one for NVIDIA's GPUs without kernels or too large.
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { faultOfAddon } from './gpu-addon.mjs';
import { faultOfFacts } from './platforms/faults.mjs';

/** Why a file of a platform package cannot be published; undefined: it can. */
async function faultOfFile(folder, file, isCuda) {
  const path = join(folder, file);
  if (!existsSync(path)) return `${file} has not been built`;
  if (isCuda) return faultOfAddon(path);
  const { inspectBinary } = await import('../packages/native-runtime/dist/index.js');
  const found = faultOfFacts(inspectBinary(path), basename(resolve(folder)));
  return found && `${file}: ${found}; one that fits: node tools/platforms.mjs`;
}

/** Why the platform package in a folder cannot be published; undefined: it can. */
export async function binaryFault(folder, { name, files }) {
  const isCuda = name.includes('backend-cuda');
  const faults = (await Promise.all(files.map((file) => faultOfFile(folder, file, isCuda)))).filter(
    (found) => found !== undefined,
  );
  return faults.length > 0 ? `${name}: ${faults.join(', ')}: this package is not published` : undefined;
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const fault = await binaryFault('.', JSON.parse(readFileSync('package.json', 'utf8')));
  if (fault) {
    console.error(fault);
    process.exit(1);
  }
}
