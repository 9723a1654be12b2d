import type { DecoderConfig } from './config/decoder-config.js';
import { llamaWeights } from './llama-weights.js';
import type { WeightEntry } from './weights/weight-table.js';

const isSparse = ({ mixture }: DecoderConfig, layer: number): boolean => mixture?.sparse[layer] ?? false;
const isDense = (config: DecoderConfig, layer: number): boolean => !isSparse(config, layer);
const { gate, up, down } = llamaWeights.layer;

/** Llama's feed-forward, in the layers that have no experts. */
export const denseFeedForward = {
  gate: { ...gate, when: isDense },
  up: { ...up, when: isDense },
  down: { ...down, when: isDense },
} as const satisfies Readonly<Record<string, WeightEntry>>;

/** The matrices of all experts of a layer as one stack: [E, N, K]. */
const stack = (gguf: string, huggingFace: string, shape: (config: DecoderConfig) => readonly number[]) => ({
  gguf: `blk.{i}.${gguf}.weight`,
  huggingFace: `${huggingFace}.weight`,
  shape: (config: DecoderConfig) => [config.mixture!.experts, ...shape(config)],
  when: isSparse,
  used: ({ mixture }: DecoderConfig) => mixture!.chosen / mixture!.experts,
});

/**
 * The parameters of a mixture of experts.
 * @param block what Hugging Face files call it in layer {i}
 * @param names of an expert's matrices there
 */
export const mixtureEntries = (
  block: string,
  names: { readonly gate: string; readonly up: string; readonly down: string },
) =>
  ({
    router: {
      gguf: 'blk.{i}.ffn_gate_inp.weight',
      huggingFace: `${block}.gate.weight`,
      shape: (c) => [c.mixture!.experts, c.width],
      when: isSparse,
    },
    gateExperts: stack('ffn_gate_exps', `${block}.experts.{e}.${names.gate}`, (c) => [
      c.mixture!.feedForward,
      c.width,
    ]),
    upExperts: stack('ffn_up_exps', `${block}.experts.{e}.${names.up}`, (c) => [
      c.mixture!.feedForward,
      c.width,
    ]),
    downExperts: stack('ffn_down_exps', `${block}.experts.{e}.${names.down}`, (c) => [
      c.width,
      c.mixture!.feedForward,
    ]),
  }) as const satisfies Readonly<Record<string, WeightEntry>>;
