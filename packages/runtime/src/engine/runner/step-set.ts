import { StepCache } from '@quern/core';
import type { AdapterStacks } from '@quern/models';
import { batchRows } from '../batch.js';
import type { ForwardArrays } from './forward-parts.js';

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

/** The stacks of all adapters, and the steps that were captured with them. Freed when they are replaced and unused. */
export class AdaptedSteps {
  readonly captured: StepSet;
  private users = 0;
  private retired = false;

  constructor(
    readonly adapters: AdapterStacks,
    prefillChunk: number,
  ) {
    this.captured = new StepSet(prefillChunk);
  }

  async use<T>(act: () => Promise<T>): Promise<T> {
    this.users++;
    try {
      return await act();
    } finally {
      if (--this.users === 0 && this.retired) this.free();
    }
  }

  /** Other stacks take their place: frees them once no step uses them. */
  retire(): void {
    if (this.retired) return;
    this.retired = true;
    if (this.users === 0) this.free();
  }

  private free(): void {
    this.captured.dispose();
    this.adapters.dispose();
  }
}
