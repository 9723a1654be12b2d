import type { Schema } from '@quern/core';
import { type AdapterChoices, adaptersOption } from './adapters.js';
import { type SignalOptions, signalSchema } from './signal-options.js';

export interface LogitsOptions extends SignalOptions {
  /** As `GenerateOptions.adapters`. */
  readonly adapters?: AdapterChoices | undefined;
}

export const logitsSchema = {
  ...signalSchema,
  adapters: adaptersOption,
} as const satisfies Schema<LogitsOptions>;
