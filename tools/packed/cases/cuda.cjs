const { createBackend } = require('@quern/backend-cuda');

import('./cuda-case.mjs').then(({ cudaCase }) => cudaCase(createBackend));
