import type { Architecture } from '@quern/models';
import { pumice } from './pumice.js';

/** Quern registers these when it opens a model. */
export const architectures: readonly Architecture[] = [pumice];
