import { createBackend } from '@quern/backend-cuda';
import { cudaCase } from './cuda-case.mjs';

await cudaCase(createBackend);
