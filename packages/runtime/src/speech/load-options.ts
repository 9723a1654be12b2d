import { pickOptions, type Schema } from '@quern/core';
import {
  type LoadOptions,
  loadSchema,
  type OneBackendOptions,
  oneBackendSchema,
} from '../model/load-options.js';

const shared = [
  'threads',
  'precision',
  'mmap',
  'graph',
  'resolveFrom',
  'offline',
  'signal',
  'onProgress',
  'onNotice',
] as const;

export type SpeechLoadOptions = OneBackendOptions & Pick<LoadOptions, (typeof shared)[number]>;

/** What each option must be, and its default. */
export const speechLoadSchema = {
  ...oneBackendSchema,
  ...pickOptions(loadSchema, shared),
} satisfies Schema<SpeechLoadOptions>;
