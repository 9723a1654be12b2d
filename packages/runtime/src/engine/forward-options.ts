import type { KvCache } from '@quern/core';
import type { LanguageModel } from '@quern/models';

export interface ForwardStepsOptions {
  readonly model: LanguageModel;
  readonly cache: KvCache;
  /** Whether backends that can capture steps do; otherwise all are recorded. */
  readonly capture: boolean;
}
