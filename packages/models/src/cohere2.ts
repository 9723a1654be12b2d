import type { Architecture } from './architecture.js';
import {
  cohereDecoder,
  cohereForm,
  cohereFromGguf,
  cohereFromHuggingFace,
  commandRWeights,
} from './command-r.js';
import { type DecoderConfig, limits } from './config/decoder-config.js';
import { periodicWindows } from './config/windows.js';

/** Three of four layers have a window, unless the file says otherwise (llama.cpp, transformers' Cohere2Config). */
const windowPeriod = 4;

const withUnrotated = (config: DecoderConfig): DecoderConfig => ({
  ...config,
  unrotated: config.windows.map((window) => window === 0),
});

/** Command-R7B and Command A (Cohere 2025): Command-R with windows; only layers with one rotate (Yang et al. 2025, NoPE). */
export const cohere2 = {
  name: 'cohere2',
  names: { gguf: ['cohere2'], huggingFace: ['Cohere2ForCausalLM', 'cohere2'] },
  weights: commandRWeights,
  gguf: { name: 'cohere2', ...cohereForm, windowPeriod },
  configFromGguf: (source) => {
    source.settings.whole('attention.sliding_window', limits.context); // llama.cpp needs it too
    return withUnrotated(cohereFromGguf(source, { windowPeriod }));
  },
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = settings.withDefaults({ sliding_window: 4096, rotary_pct: 1 });
    if (known.positive('rotary_pct') !== 1)
      known.refuse('rotary_pct', 'transformers rotates whole heads, llama.cpp a part');
    return withUnrotated(
      cohereFromHuggingFace({ ...source, settings: known }, periodicWindows(windowPeriod)),
    );
  },
  build: cohereDecoder,
} satisfies Architecture;
