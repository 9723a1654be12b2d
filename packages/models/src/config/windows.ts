import { limits, sameWindow } from './decoder-config.js';
import type { Settings } from './settings.js';

/** Llama: full attention in every layer. */
export const noWindows = (_settings: Settings, layers: number): number[] => sameWindow(layers, 0);

/** Mistral: `sliding_window` for every layer; null: none; absent: 4096 (transformers' MistralConfig). */
export function mistralWindows(settings: Settings, layers: number): number[] {
  if (settings.isNull('sliding_window')) return sameWindow(layers, 0);
  return sameWindow(layers, settings.whole('sliding_window', limits.context, 4096));
}

/** Mixtral and Phi-3: `sliding_window` for every layer, if present. */
export const mixtralWindows = (settings: Settings, layers: number): number[] =>
  sameWindow(layers, settings.has('sliding_window') ? settings.whole('sliding_window', limits.context) : 0);

/** Qwen3-MoE: `sliding_window` for every layer if `use_sliding_window`; absent: 4096 (Qwen3MoeConfig). */
export const qwen3MoeWindows = (settings: Settings, layers: number): number[] =>
  sameWindow(
    layers,
    settings.flag('use_sliding_window') ? settings.whole('sliding_window', limits.context, 4096) : 0,
  );

/** Qwen: `sliding_window` if `use_sliding_window`, in the layers of `layer_types` or from `max_window_layers` on. */
export function qwenWindows(settings: Settings, layers: number): number[] {
  if (!settings.flag('use_sliding_window')) return sameWindow(layers, 0);
  const window = settings.whole('sliding_window', limits.context);
  const types = settings.texts('layer_types');
  if (types) return typedWindows(settings, types, layers, window);
  const first = settings.whole('max_window_layers', limits.layers, 28, 0); // transformers' Qwen2Config
  return Array.from({ length: layers }, (_, i) => (i >= first ? window : 0));
}

/**
 * Gemma: `sliding_window` in the layers of `layer_types`, else in all except every n-th; n: `sliding_window_pattern` or
 * `period`.
 */
export const periodicWindows =
  (period: number) =>
  (settings: Settings, layers: number): number[] => {
    const window = settings.whole('sliding_window', limits.context);
    const types = settings.texts('layer_types');
    if (types) return typedWindows(settings, types, layers, window);
    const n = settings.whole('sliding_window_pattern', limits.layers, period);
    return Array.from({ length: layers }, (_, i) => ((i + 1) % n === 0 ? 0 : window));
  };

/** The windows of `layer_types`. */
export function typedWindows(
  settings: Settings,
  types: readonly string[],
  layers: number,
  window: number,
): number[] {
  const known: Readonly<Record<string, number>> = { full_attention: 0, sliding_attention: window };
  const windows = types.map((type) => known[type]);
  if (windows.length !== layers || !windows.every((size) => size !== undefined))
    return settings.fail('layer_types', `${layers} times full_attention or sliding_attention`);
  return windows;
}
