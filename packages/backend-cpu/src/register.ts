// Makes this backend known to @quern/runtime by an import, which bundlers see: docs/guide/bundlers.md.
import { registerBackend } from '@quern/core';
import { createBackend } from './index.js';

registerBackend({ package: '@quern/backend-cpu', createBackend });
