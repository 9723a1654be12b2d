// What keeps an addon of backend-cuda from being published. Without nvcc it has no kernels, and runs on the emulated device alone.
import { readFileSync } from 'node:fs';

/** First bytes of a fat binary: magic number, version 1, 16 bytes of header (fatbinary_section.h of CUDA). */
const fatBinary = Buffer.from('50ed55ba01001000', 'hex');

/** MB. An installation downloads all architectures, and uses one. */
const MOST = 30;

/** What is wrong with the addon, or undefined. */
export function faultOfAddon(addon) {
  const bytes = readFileSync(addon);
  if (!bytes.includes(fatBinary))
    return `${addon} has no kernels for GPUs: build it with nvcc (npm run build-cuda in packages/backend-cuda)`;
  if (bytes.length > MOST * 1e6)
    return `${addon} has ${(bytes.length / 1e6).toFixed(1)} MB, more than ${MOST}: leave architectures out (QUERN_CUDA_ARCHITECTURES), or publish a package for each family of them`;
  return undefined;
}
