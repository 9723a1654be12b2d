import type { KvCache } from '@quern/core';
import type { LanguageModel } from '@quern/models';

export interface ForwardStepsOptions {
  readonly model: LanguageModel;
  readonly cache: KvCache;
  /** Capture steps where the backend can; otherwise every step is recorded. */
  readonly capture: boolean;
  /** Most prompt tokens in one step. */
  readonly prefillChunk: number;
}
