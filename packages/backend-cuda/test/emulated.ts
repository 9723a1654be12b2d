// Builds the addon, and the emulated device in place of NVIDIA's driver.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const build = at('../build/emulated');

mkdirSync(build, { recursive: true });
const cmake = (...args: string[]) => execFileSync('cmake', args, { stdio: ['ignore', 'ignore', 'inherit'] });
cmake('-S', at('..'), '-B', build, '-DQUERN_EMULATED_CUDA=ON', '-DNVCC=NVCC-NOTFOUND');
cmake('--build', build, '--parallel', '2');
process.env.QUERN_CUDA_BINARY = join(build, 'backend_cuda.node');
process.env.QUERN_CUDA_LIBRARY = join(build, 'libemulated_cuda.so');
