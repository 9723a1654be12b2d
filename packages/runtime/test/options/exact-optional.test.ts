import type { BackendOptions } from '@quern/core';
import type {
  ConvertOptions,
  SyntheticOptions,
  SyntheticSpeechOptions,
  LoadOptions as WeightOptions,
} from '@quern/models';
import type { ParseGgufOptions, QuantizeOptions, WriteQuantizedOptions } from '@quern/quant';
import type * as runtime from '../../src/index.js';

/** Names of optional properties that do not accept undefined. */
type Exact<T> = {
  [K in keyof T]-?: object extends Pick<T, K> ? (undefined extends Required<T>[K] ? never : K) : never;
}[keyof T];

type Every =
  | Exact<runtime.LoadOptions>
  | Exact<runtime.GenerateOptions>
  | Exact<runtime.ChatOptions>
  | Exact<runtime.SamplingOptions>
  | Exact<runtime.SpeculateByLookup>
  | Exact<runtime.SpeculateByDraft>
  | Exact<runtime.EmbedderOptions>
  | Exact<runtime.EmbedOptions>
  | Exact<runtime.TextsOptions>
  | Exact<runtime.SpeechLoadOptions>
  | Exact<runtime.TranscribeOptions>
  | Exact<runtime.QuantizeModelOptions>
  | Exact<runtime.PerplexityOptions>
  | Exact<runtime.FindBackendsOptions>
  | Exact<runtime.SignalOptions>
  | Exact<runtime.EncodeOptions>
  | Exact<runtime.TokenStreamOptions>
  | Exact<runtime.TokenizerSettings>
  | Exact<runtime.RenderOptions>
  | Exact<runtime.LoadTemplateOptions>
  | Exact<BackendOptions>
  | Exact<ConvertOptions>
  | Exact<WeightOptions>
  | Exact<SyntheticOptions>
  | Exact<SyntheticSpeechOptions>
  | Exact<ParseGgufOptions>
  | Exact<QuantizeOptions>
  | Exact<WriteQuantizedOptions>;

test('every option accepts undefined under exactOptionalPropertyTypes (a type check)', () => {
  const none: [Every] extends [never] ? true : Every = true;
  const strict: Exact<{ readonly seed?: number }> = 'seed'; // the check finds a strict one
  expect([none, strict]).toEqual([true, 'seed']);
});
