// Runs before a platform package is published: refuses a package without its binary, and one for NVIDIA's GPUs without kernels or too large.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { faultOfAddon } from './gpu-addon.mjs';

/** Why the platform package in a folder cannot be published; undefined: it can. */
export function binaryFault(folder, { name, files }) {
  const fault = (file) => {
    if (!existsSync(join(folder, file))) return `${file} has not been built`;
    return name.includes('backend-cuda') ? faultOfAddon(join(folder, file)) : undefined;
  };
  const faults = files.map(fault).filter((found) => found !== undefined);
  return faults.length > 0 ? `${name}: ${faults.join(', ')}: this package is not published` : undefined;
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const fault = binaryFault('.', JSON.parse(readFileSync('package.json', 'utf8')));
  if (fault) {
    console.error(fault);
    process.exit(1);
  }
}
