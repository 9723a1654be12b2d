import type { DecoderConfig } from './decoder-config.js';
import { decoderConfigFromGguf, type GgufRules, type GgufSource } from './gguf.js';
import { decoderConfigFromHuggingFace, type HuggingFaceSource } from './hugging-face.js';
import type { Settings } from './settings.js';
import { periodicWindows } from './windows.js';

/** The configuration of Gemma 2 or 3 from config.json; every `period`-th layer looks back all the way. */
export function gemmaFromHuggingFace(source: HuggingFaceSource, period: number): DecoderConfig {
  const { settings } = source;
  const activations = ['gelu_pytorch_tanh'];
  return {
    ...decoderConfigFromHuggingFace(source, periodicWindows(period), { activations }),
    attentionScale: 1 / Math.sqrt(settings.positive('query_pre_attn_scalar')),
    ...caps(settings),
  };
}

/**
 * The configuration of Gemma 2 or 3 from GGUF metadata. The factor on q·k is 1/√d, and 1/√(D / H) in the largest model, which files do
 * not say and llama.cpp knows by the number of its layers.
 */
export function gemmaFromGguf(source: GgufSource, rules: GgufRules, largest: number): DecoderConfig {
  const config = decoderConfigFromGguf(source, 'halves', rules);
  const { layers, width, heads, headDim } = config;
  return {
    attentionScale: 1 / Math.sqrt(layers === largest ? width / heads : headDim),
    ...config,
    ...caps(source.settings),
  };
}

function caps(settings: Settings): Pick<DecoderConfig, 'attentionCap' | 'logitCap'> {
  const cap = (key: string) => (settings.has(key) ? settings.positive(key) : undefined);
  const [attentionCap, logitCap] = [cap('attn_logit_softcapping'), cap('final_logit_softcapping')];
  return { ...(attentionCap && { attentionCap }), ...(logitCap && { logitCap }) };
}
