import { createBackend } from '@quern/backend-cuda';
import { gpuCase } from './gpu-case.mjs';

await gpuCase(createBackend, 'QUERN_CUDA_LIBRARY');
