import type { Architecture } from '@quern/models';
import { olmo2 } from './olmo2.js';

/** Quern registers these when it opens a model. */
export const architectures: readonly Architecture[] = [olmo2];
