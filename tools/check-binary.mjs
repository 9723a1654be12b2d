// Runs before a platform package is published: refuses a package without its binary, and one for NVIDIA's GPUs without kernels or too large.
import { existsSync, readFileSync } from 'node:fs';
import { faultOfAddon } from './gpu-addon.mjs';

const { name, files } = JSON.parse(readFileSync('package.json', 'utf8'));

function fault(file) {
  if (!existsSync(file)) return `${file} has not been built`;
  return name.includes('backend-cuda') ? faultOfAddon(file) : undefined;
}

const faults = files.map(fault).filter((found) => found !== undefined);
if (faults.length > 0) {
  console.error(`${name}: ${faults.join(', ')}: this package is not published`);
  process.exit(1);
}
