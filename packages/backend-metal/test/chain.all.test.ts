import './emulated.js';
import { chainTests } from '../../gpu/test/chain-tests.js';
import { createBackend } from '../src/index.js';

chainTests(createBackend);
