const { createBackend } = require('@quern/backend-cuda');

import('./gpu-case.mjs').then(({ gpuCase }) => gpuCase(createBackend, 'QUERN_CUDA_LIBRARY'));
