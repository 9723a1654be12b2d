import type { DecoderConfig } from './decoder-config.js';
import { decoderConfigFromGguf, type GgufRules, type GgufSource } from './gguf.js';
import { decoderConfigFromHuggingFace, type HuggingFaceSource } from './hugging-face.js';
import type { Settings } from './settings.js';
import { periodicWindows } from './windows.js';

/** The configuration of Gemma 2 or 3 from config.json; every `period`-th layer has full attention. */
export function gemmaFromHuggingFace(source: HuggingFaceSource, period: number): DecoderConfig {
  const { settings } = source;
  const activations = ['gelu_pytorch_tanh'];
  return {
    ...decoderConfigFromHuggingFace(source, periodicWindows(period), { activations }),
    attentionScale: 1 / Math.sqrt(settings.positive('query_pre_attn_scalar')),
    ...caps(settings),
  };
}

/** The configuration of Gemma 2 or 3 from GGUF metadata. */
export function gemmaFromGguf(source: GgufSource, rules: GgufRules, largest: number): DecoderConfig {
  const config = decoderConfigFromGguf(source, 'halves', rules);
  return { attentionScale: llamaCppScale(config, largest), ...config, ...caps(source.settings) };
}

/**
 * llama.cpp's factor on q·k, which GGUF files do not hold: 1/√d; in the largest model, recognised by its layer count,
 * 1/√(D / H).
 */
const llamaCppScale = ({ layers, width, heads, headDim }: DecoderConfig, largest: number): number =>
  1 / Math.sqrt(layers === largest ? width / heads : headDim);

/** `GgufForm.llamaCppDiffers`: llama.cpp has fixed factors on q·k and fixed windows, those of the published models. */
export const gemmaDiffers =
  (period: number, largest: number) =>
  (config: DecoderConfig): string | undefined => {
    const scale = llamaCppScale(config, largest);
    if (Math.abs(config.attentionScale! / scale - 1) > 1e-6)
      return `multiplies q·k by ${scale} instead of ${config.attentionScale}`;
    const differs = config.windows.some((window, i) => (window === 0) !== ((i + 1) % period === 0));
    return differs ? `may give full attention to every ${period}th layer only` : undefined;
  };

function caps(settings: Settings): Pick<DecoderConfig, 'attentionCap' | 'logitCap'> {
  const cap = (key: string) => (settings.has(key) ? settings.positive(key) : undefined);
  const [attentionCap, logitCap] = [cap('attn_logit_softcapping'), cap('final_logit_softcapping')];
  return { ...(attentionCap && { attentionCap }), ...(logitCap && { logitCap }) };
}
