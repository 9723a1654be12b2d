// Whether an addon of backend-cuda has kernels for GPUs: an addon built without nvcc has none, and runs on the emulated
// device alone.
import { readFileSync } from 'node:fs';

/** First bytes of a fat binary: magic number, version 1, 16 bytes of header (fatbinary_section.h of CUDA). */
const fatBinary = Buffer.from('50ed55ba01001000', 'hex');

export const hasKernels = (addon) => readFileSync(addon).includes(fatBinary);

export const noKernels = (addon) =>
  `${addon} has no kernels for GPUs: build it with nvcc (npm run build-cuda in packages/backend-cuda)`;
