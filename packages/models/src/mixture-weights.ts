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

/** Llama's feed-forward, in the layers that have no experts. */
export const denseFeedForward = {
  gate: { ...gate, when: isDense },
  up: { ...up, when: isDense },
  down: { ...down, when: isDense },
} as const satisfies Readonly<Record<string, WeightEntry>>;

/** The matrices of all experts of a layer as one stack: [E, N, K]. */
const stack = (gguf: string, huggingFace: string, shape: (config: DecoderConfig) => readonly number[]) => ({
  gguf: `blk.{i}.${gguf}_exps.weight`,
  ggufApart: `blk.{i}.${gguf}.{e}.weight`,
  huggingFace: `${huggingFace}.weight`,
  shape: (config: DecoderConfig) => [config.mixture!.experts, ...shape(config)],
  when: isSparse,
  used: ({ mixture }: DecoderConfig) => mixture!.chosen / mixture!.experts,
});

/** What Hugging Face files call an expert's matrices. */
interface ExpertNames {
  readonly gate: string;
  readonly up: string;
  readonly down: string;
}

/**
 * The parameters of a mixture of experts.
 * @param block what Hugging Face files call it in layer {i}
 */
export const mixtureEntries = (block: string, names: ExpertNames) =>
  ({
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
  }) as const satisfies Readonly<Record<string, WeightEntry>>;

/** Matrices of experts in one file: the largest models have some 70 000. */
const mostMatrices = 2 ** 20;

/**
 * Files with the experts of a layer as two stacks, as transformers 5 holds them, by the names of the table: gate over up
 * [E, 2F, D], and down [E, D, F]. A stack whose values depend on more than its bytes stays, and is then missed by its name.
 * @throws ModelError BAD_WEIGHT_SHAPE where the stacks have more matrices than is believed.
 */
export const splitExperts =
  (block: string, names: ExpertNames) =>
  (file: WeightFile): WeightFile => {
    let matrices = 0;
    return mapTensors(file, (tensor) => {
      const [, layer, part] = /^model\.layers\.(\d+)\.mlp\.(.+)$/.exec(tensor.name) ?? [];
      const at = block.replace('{i}', layer ?? '');
      if (part === 'gate.weight') return [{ ...tensor, name: `${at}.gate.weight` }];
      const parts = part === undefined ? undefined : fusedParts(part, names);
      if (!parts) return [tensor];
      matrices += (tensor.shape[0] ?? 0) * parts.length;
      if (matrices > mostMatrices)
        throw new ModelError(
          'BAD_WEIGHT_SHAPE',
          `${file.paths[0]}: tensor '${tensor.name}' [${tensor.shape}] brings the matrices of experts to ${matrices}; at most ${mostMatrices} are believed`,
        );
      return perExpert(tensor, at, parts);
    });
  };

/** The matrices of an expert that lie on top of each other in a stack. */
function fusedParts(part: string, { gate, up, down }: ExpertNames): readonly string[] | undefined {
  if (part === 'experts.gate_up_proj') return [gate, up];
  return part === 'experts.down_proj' ? [down] : undefined;
}

/** A stack [E, n · N, K] as E · n matrices. */
function perExpert(tensor: FileTensor, block: string, parts: readonly string[]): readonly FileTensor[] {
  const [experts = 0, rows = 0, columns = 0] = tensor.shape;
  if (tensor.shape.length !== 3) return [tensor];
  const matrices = Array.from({ length: experts }, (_, e) =>
    parts.map((part) => `${block}.experts.${e}.${part}.weight`),
  );
  return cutRows({ ...tensor, shape: [experts * rows, columns] }, matrices.flat());
}
