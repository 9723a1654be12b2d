import { createBackend } from '@quern/backend-metal';
import { gpuCase } from './gpu-case.mjs';

await gpuCase(createBackend, 'QUERN_METAL_LIBRARY');
