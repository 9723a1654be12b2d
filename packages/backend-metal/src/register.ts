// Makes this backend known to @quern/runtime by an import, which bundlers see: docs/guide/bundlers.md.
import { registerBackend } from '@quern/core';
import { createBackend, devices } from './index.js';

registerBackend({ package: '@quern/backend-metal', createBackend, devices });
