import { StepCache } from '@quern/core';
import { batchRows } from './batch-rows.js';
import type { ForwardArrays } from './forward-arrays.js';

/** Most captured steps of decoding and drafts, and most rows of these steps together: of four of the largest, and of small ones. */
const decodingLimits = (prefillChunk: number) => ({ steps: 40, rows: 4 * batchRows(prefillChunk) + 8 });

/** Most captured steps with rows of prompts. Their rows together: at most a chunk, the size that the planner counts. */
const promptSteps = 16;

/**
 * Most captured steps of rows of several sequences in any numbers, and most rows of these steps together: one of each size
 * up to 256 rows has 1456.
 */
const mixedLimits = (prefillChunk: number) => ({
  steps: 32,
  rows: Math.max(1024, 6 * batchRows(prefillChunk)),
});

/** Captured steps of a model by their shapes. */
export class StepSet {
  readonly decoding: StepCache<ForwardArrays>;
  readonly prompts: StepCache<ForwardArrays>;
  readonly mixed: StepCache<ForwardArrays>;

  constructor(prefillChunk: number) {
    this.decoding = new StepCache(decodingLimits(prefillChunk));
    this.mixed = new StepCache(mixedLimits(prefillChunk));
    this.prompts = new StepCache({ steps: promptSteps, rows: prefillChunk });
  }

  dispose(): void {
    this.decoding.dispose();
    this.prompts.dispose();
    this.mixed.dispose();
  }
}
