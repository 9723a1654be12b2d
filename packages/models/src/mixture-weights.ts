import type { DecoderConfig } from './config/decoder-config.js';
import { ModelError } from './error.js';
import { llamaWeights } from './llama-weights.js';
import type { FileTensor } from './weights/file-tensor.js';
import { cutRows, mapTensors } from './weights/map-tensors.js';
import type { WeightFile } from './weights/weight-file.js';
import type { WeightEntry } from './weights/weight-table.js';

const isSparse = ({ mixture }: DecoderConfig, layer: number): boolean => mixture?.sparse[layer] ?? false;
const isDense = (config: DecoderConfig, layer: number): boolean => !isSparse(config, layer);
const { gate, up, down } = llamaWeights.layer;

/** Llama's feed-forward, in layers without experts. */
export const denseFeedForward = {
  gate: { ...gate, when: isDense },
  up: { ...up, when: isDense },
  down: { ...down, when: isDense },
} as const satisfies Readonly<Record<string, WeightEntry>>;

/** A parameter of sparse layers. */
type SparseEntry = WeightEntry & Required<Pick<WeightEntry, 'when'>>;
type SparseEntries<Field extends string> = Readonly<Record<Field, SparseEntry>>;

/** A layer's expert matrices as one stack: [E, N, K]. */
const stack = (gguf: string, huggingFace: string, shape: (config: DecoderConfig) => readonly number[]) => ({
  gguf: `blk.{i}.${gguf}_exps.weight`,
  ggufApart: `blk.{i}.${gguf}.{e}.weight`,
  huggingFace: `${huggingFace}.weight`,
  shape: (config: DecoderConfig) => [config.mixture!.experts, ...shape(config)],
  when: isSparse,
  used: ({ mixture }: DecoderConfig) => mixture!.chosen / mixture!.experts,
});

/** Names of an expert's matrices in Hugging Face files. */
export interface ExpertNames {
  readonly gate: string;
  readonly up: string;
  readonly down: string;
}

/**
 * The parameters of a mixture of experts.
 * @param block the mixture's name in Hugging Face files, for layer {i}
 */
export const mixtureEntries = (
  block: string,
  names: ExpertNames,
): SparseEntries<'router' | 'gateExperts' | 'upExperts' | 'downExperts'> => ({
  router: {
    gguf: 'blk.{i}.ffn_gate_inp.weight',
    huggingFace: `${block}.gate.weight`,
    shape: (c) => [c.mixture!.experts, c.width],
    when: isSparse,
  },
  gateExperts: stack('ffn_gate', `${block}.experts.{e}.${names.gate}`, (c) => [
    c.mixture!.feedForward,
    c.width,
  ]),
  upExperts: stack('ffn_up', `${block}.experts.{e}.${names.up}`, (c) => [c.mixture!.feedForward, c.width]),
  downExperts: stack('ffn_down', `${block}.experts.{e}.${names.down}`, (c) => [
    c.width,
    c.mixture!.feedForward,
  ]),
});

/** The bias by which experts are chosen. `huggingFace`: its name, for layer {i}. */
export const selectionBias = (huggingFace: string): SparseEntry => ({
  gguf: 'blk.{i}.exp_probs_b.bias',
  huggingFace,
  shape: (c) => [c.mixture!.experts],
  when: isSparse,
});

const hasShared = (config: DecoderConfig, layer: number): boolean =>
  isSparse(config, layer) && config.mixture!.sharedFeedForward !== undefined;

/**
 * The parameters of the shared expert.
 * @param block its name in Hugging Face files, for layer {i}
 */
export const sharedEntries = (block: string): SparseEntries<'sharedGate' | 'sharedUp' | 'sharedDown'> => ({
  sharedGate: {
    gguf: 'blk.{i}.ffn_gate_shexp.weight',
    huggingFace: `${block}.gate_proj.weight`,
    shape: (c) => [c.mixture!.sharedFeedForward!, c.width],
    when: hasShared,
  },
  sharedUp: {
    gguf: 'blk.{i}.ffn_up_shexp.weight',
    huggingFace: `${block}.up_proj.weight`,
    shape: (c) => [c.mixture!.sharedFeedForward!, c.width],
    when: hasShared,
  },
  sharedDown: {
    gguf: 'blk.{i}.ffn_down_shexp.weight',
    huggingFace: `${block}.down_proj.weight`,
    shape: (c) => [c.width, c.mixture!.sharedFeedForward!],
    when: hasShared,
  },
});

/** Most expert matrices of one file; the largest models have about 70 000. */
const mostMatrices = 2 ** 20;

/**
 * Splits the stacked experts of transformers 5 into the table's names. Stacks per layer: gate over up [E, 2F, D], and
 * down [E, D, F]. A stack with scales or zero points is not split; it is then reported as a missing weight.
 * @throws ModelError BAD_WEIGHT_SHAPE for more than 2²⁰ matrices.
 */
export const splitExperts =
  (block: string, names: ExpertNames) =>
  (file: WeightFile): WeightFile => {
    let matrices = 0;
    return mapTensors(file, (tensor) => {
      const [, layer, part] = /^model\.layers\.(\d+)\.mlp\.(.+)$/.exec(tensor.name) ?? [];
      const at = block.replace('{i}', layer ?? '');
      if (part === 'gate.weight' || part === 'e_score_correction_bias')
        return [{ ...tensor, name: `${at}.${part}` }];
      const parts = part === undefined ? undefined : fusedParts(part, names);
      if (!parts) return [tensor];
      matrices += (tensor.shape[0] ?? 0) * parts.length;
      if (matrices > mostMatrices)
        throw new ModelError(
          'BAD_WEIGHT_SHAPE',
          `${file.paths[0]}: tensor '${tensor.name}' [${tensor.shape}] brings the matrices of experts to ${matrices}; at most ${mostMatrices} are allowed`,
        );
      return perExpert(tensor, at, parts);
    });
  };

/** The matrices of an expert in a fused stack, top to bottom. */
function fusedParts(part: string, { gate, up, down }: ExpertNames): readonly string[] | undefined {
  if (part === 'experts.gate_up_proj') return [gate, up];
  return part === 'experts.down_proj' ? [down] : undefined;
}

/** A stack [E, n · N, K] → E · n matrices [N, K]. */
function perExpert(tensor: FileTensor, block: string, parts: readonly string[]): readonly FileTensor[] {
  const [experts = 0, rows = 0, columns = 0] = tensor.shape;
  if (tensor.shape.length !== 3) return [tensor];
  const matrices = Array.from({ length: experts }, (_, e) =>
    parts.map((part) => `${block}.experts.${e}.${part}.weight`),
  );
  return cutRows({ ...tensor, shape: [experts * rows, columns] }, matrices.flat());
}
