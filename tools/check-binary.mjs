// Runs before a platform package is published: refuses a package without its binary; one whose binary is for another system, or needs more
// of it than other packages do; and one for NVIDIA's GPUs without kernels or too large.
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { faultOfAddon } from './gpu-addon.mjs';
import { faultOfFacts } from './platforms/faults.mjs';

const { name, files } = JSON.parse(readFileSync('package.json', 'utf8'));
const platform = basename(process.cwd());

async function fault(file) {
  if (!existsSync(file)) return `${file} has not been built`;
  if (name.includes('backend-cuda')) return faultOfAddon(file);
  const { inspectBinary } = await import('../packages/native-runtime/dist/index.js');
  const found = faultOfFacts(inspectBinary(file), platform);
  return found && `${file}: ${found}; one that fits: node tools/platforms.mjs`;
}

const faults = (await Promise.all(files.map(fault))).filter((found) => found !== undefined);
if (faults.length > 0) {
  console.error(`${name}: ${faults.join(', ')}: this package is not published`);
  process.exit(1);
}
