import type { WritableFormat } from '../format/formats.js';

/** The role of a matrix; it decides the format in a mix. */
export type Role =
  | 'embedding'
  | 'output'
  | 'attentionK'
  | 'attentionV'
  | 'attentionQkv'
  | 'attentionOutput'
  | 'ffnDown'
  | 'other';

/** Inputs of a rule besides the role. */
export interface Place {
  /** Of `layers`; 0 for a matrix outside the layers. */
  readonly layer: number;
  readonly layers: number;
  /** Query heads per key head. */
  readonly groupedQueries: number;
  readonly experts: number;
  /** Quantising has an importance matrix. */
  readonly weighted: boolean;
}

type Rule = (place: Place) => WritableFormat | undefined;

/** Formats of the matrices of a file. */
export interface Mix {
  /** llama.cpp's number of the mix, for `general.file_type`. */
  readonly fileType: number;
  /** Format of all matrices without a rule. */
  readonly base: WritableFormat;
  /** If a rule returns nothing, `base` applies. */
  readonly rules?: Readonly<Partial<Record<Role, Rule>>>;
  /** Format of expert stacks, if different. */
  readonly experts?: WritableFormat;
  /** The q8_0 blocks of a row share scales, one per 256 weights (format/int8.ts). */
  readonly sharesScales?: true;
  /** With eight experts attention is a small part of the file: its output gets q5_k. */
  readonly sparesAttention?: true;
}

const always =
  (format: WritableFormat): Rule =>
  () =>
    format;

/** The most sensitive layers: the first and last eighth, and every third between. */
const inManyLayers =
  (format: WritableFormat): Rule =>
  ({ layer, layers }) => {
    const first = Math.floor(layers / 8);
    const many = layer < first || layer >= Math.floor((7 * layers) / 8) || (layer - first) % 3 === 2;
    return many ? format : undefined;
  };

/** `format` if the condition holds, otherwise `otherwise`. */
const where =
  (holds: (place: Place) => boolean, format: WritableFormat, otherwise?: WritableFormat): Rule =>
  (place) =>
    holds(place) ? format : otherwise;

const firstEighth = ({ layer, layers }: Place): boolean => layer < Math.floor(layers / 8);
const manyQueries = ({ groupedQueries }: Place): boolean => groupedQueries >= 4;

/** Rules of the formats with levels on a curve. */
const onACurve = {
  attentionV: where(manyQueries, 'q5_k'),
  ffnDown: where((place) => !place.weighted && firstEighth(place), 'q5_k'),
} as const;

/** Names, numbers and rules of llama.cpp (llama_tensor_get_type). int8 is Quern's own; llama.cpp reads it as q8_0. */
export const mixes = {
  f32: { fileType: 0, base: 'f32' },
  f16: { fileType: 1, base: 'f16' },
  bf16: { fileType: 32, base: 'bf16' },
  q8_0: { fileType: 7, base: 'q8_0' },
  int8: { fileType: 7, base: 'q8_0', sharesScales: true },
  mxfp4_moe: { fileType: 38, base: 'q8_0', experts: 'mxfp4' },
  q6_k: { fileType: 18, base: 'q6_k' },
  q5_k_m: {
    fileType: 17,
    base: 'q5_k',
    rules: {
      attentionV: inManyLayers('q6_k'),
      ffnDown: inManyLayers('q6_k'),
      attentionQkv: always('q6_k'),
    },
  },
  q5_k_s: { fileType: 16, base: 'q5_k' },
  q4_k_m: {
    fileType: 15,
    base: 'q4_k',
    rules: {
      attentionV: inManyLayers('q6_k'),
      ffnDown: inManyLayers('q6_k'),
      attentionQkv: always('q5_k'),
    },
    sparesAttention: true,
  },
  q4_k_s: {
    fileType: 14,
    base: 'q4_k',
    rules: { attentionV: where(({ layer }) => layer < 4, 'q5_k'), ffnDown: where(firstEighth, 'q5_k') },
    sparesAttention: true,
  },
  iq4_xs: { fileType: 30, base: 'iq4_xs', rules: onACurve, sparesAttention: true },
  iq4_nl: { fileType: 25, base: 'iq4_nl', rules: onACurve, sparesAttention: true },
  q5_1: { fileType: 9, base: 'q5_1' },
  q5_0: {
    fileType: 8,
    base: 'q5_0',
    rules: { ffnDown: where((place) => place.weighted && firstEighth(place), 'q5_1') },
  },
  q4_1: { fileType: 3, base: 'q4_1' },
  q4_0: {
    fileType: 2,
    base: 'q4_0',
    rules: { ffnDown: where((place) => place.weighted && firstEighth(place), 'q4_1') },
  },
  q3_k_l: {
    fileType: 13,
    base: 'q3_k',
    rules: {
      attentionV: always('q5_k'),
      ffnDown: always('q5_k'),
      attentionOutput: always('q5_k'),
      attentionQkv: always('q4_k'),
    },
  },
  q3_k_m: {
    fileType: 12,
    base: 'q3_k',
    rules: {
      attentionV: where(({ layer }) => layer < 2, 'q5_k', 'q4_k'),
      ffnDown: where(({ layer, layers }) => layer < Math.floor(layers / 16), 'q5_k', 'q4_k'),
      attentionOutput: always('q4_k'),
      attentionQkv: always('q4_k'),
    },
    sparesAttention: true,
  },
  q3_k_s: { fileType: 11, base: 'q3_k', sparesAttention: true },
  q2_k: {
    fileType: 10,
    base: 'q2_k',
    rules: {
      attentionV: where(manyQueries, 'q4_k', 'q3_k'),
      ffnDown: always('q3_k'),
      attentionOutput: always('q3_k'),
    },
    sparesAttention: true,
  },
  q2_k_s: {
    fileType: 21,
    base: 'q2_k',
    rules: { attentionV: where(manyQueries, 'q4_k'), ffnDown: where(firstEighth, 'q4_k') },
  },
} as const satisfies Record<string, Mix>;

/** Name of a mix, such as 'q4_k_m'. */
export type MixName = keyof typeof mixes;

/** All mixes; within a family the best first. */
export const mixNames = Object.keys(mixes) as readonly MixName[];

/** Whether `name` is a mix. */
export const isMixName = (name: string): name is MixName => Object.hasOwn(mixes, name);

const manyExperts = 8; // llama.cpp has rules for exactly 8 experts (Mixtral)
const largeModel = 80; // layers of the 70 B models

/** Format of a matrix in a mix, before the check of its row length. */
export function formatInMix(mix: Mix, role: Role, place: Place): WritableFormat {
  if (!isQuantised(mix.base)) return mix.base;
  const ruled = mix.rules?.[role]?.(place) ?? mix.base;
  if (role === 'output') return mix.base === 'q8_0' ? 'q8_0' : 'q6_k';
  if (place.experts === manyExperts) {
    if (role === 'attentionV' || role === 'attentionK') return 'q8_0';
    if (role === 'attentionOutput') return mix.sparesAttention ? 'q5_k' : mix.base;
  }
  if (role === 'attentionV' && place.layers === largeModel && (ruled === 'q3_k' || ruled === 'q4_k'))
    return 'q5_k';
  return ruled;
}

const isQuantised = (format: WritableFormat): boolean => !['f32', 'f16', 'bf16'].includes(format);
