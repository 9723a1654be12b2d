import type { Architecture } from './architecture.js';
import { periodicWindows } from './config/windows.js';
import { olmo2, olmoFromHuggingFace, windowPeriod, withPlainWindows } from './olmo2.js';

/**
 * OLMo 3 (OLMo Team 2025): OLMo 2 with windows in three of four layers, where RoPE is not scaled. Early versions 5 of
 * transformers scale it in all layers.
 */
export const olmo3 = {
  ...olmo2,
  name: 'olmo3',
  names: { gguf: [], huggingFace: ['Olmo3ForCausalLM', 'olmo3'] }, // GGUF: olmo2
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = settings.withDefaults({ sliding_window: 4096 }); // of Olmo3Config
    const windows = periodicWindows(windowPeriod);
    return withPlainWindows(olmoFromHuggingFace({ ...source, settings: known }, windows));
  },
} satisfies Architecture;
