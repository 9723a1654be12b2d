import type { AdapterStacks } from '@quern/models';
import { StepSet } from './step-set.js';

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
