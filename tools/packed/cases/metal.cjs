const { createBackend } = require('@quern/backend-metal');

import('./gpu-case.mjs').then(({ gpuCase }) => gpuCase(createBackend, 'QUERN_METAL_LIBRARY'));
