import './emulated.js';
import { memoryTests } from '../../gpu/test/memory-tests.js';
import { createBackend } from '../src/index.js';

memoryTests(createBackend, 'metal:0', true);
