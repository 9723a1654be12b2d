import { mkdirSync, writeFileSync } from 'node:fs';
import { f16ToF32, f32ToF16 } from '@quern/core';
import { normal } from '@quern/core/testing';
import { f8Values } from '@quern/quant';
import { scratch } from './model-files.js';

/** A tensor in safetensors form. */
export interface Stored {
  readonly dtype: 'F32' | 'F16' | 'BF16' | 'I32' | 'F8_E4M3' | 'F8_E5M2' | 'F64';
  readonly shape: readonly number[];
  readonly data: ArrayBufferView;
}

/** A matrix's tensors by name suffix, and its values [N, K]. */
export interface Matrix {
  readonly parts: Readonly<Record<string, Stored>>;
  readonly values: Float32Array<ArrayBuffer>;
}

export type MakeMatrix = (seed: number, N: number, K: number) => Matrix;

/** Integers in [0, limit), from a seed. */
function integers(seed: number, count: number, limit: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  });
}

export const floats = (shape: readonly number[], data: Float32Array): Stored => ({
  dtype: 'F32',
  shape,
  data,
});
const words = (shape: readonly number[], data: Int32Array): Stored => ({ dtype: 'I32', shape, data });

/** Packs `count` values of `bits` bits: value i into word `at(i)`, shifted by `bits · place(i)`. */
function pack(
  values: readonly number[],
  bits: number,
  length: number,
  at: (i: number) => readonly [number, number],
) {
  const packed = new Int32Array(length);
  values.forEach((value, i) => {
    const [word, place] = at(i);
    packed[word]! |= value << (bits * place);
  });
  return packed;
}

export interface Grouped {
  readonly bits: 4 | 8;
  readonly group: number;
  readonly ordered?: boolean;
  readonly symmetric?: boolean;
  readonly version?: 1 | 2;
}

/** Integers, zero points and scales of a random matrix, and its dequantised values. */
function grouped(seed: number, N: number, K: number, { bits, group, ordered, symmetric }: Grouped) {
  const groups = group === -1 ? 1 : K / group;
  const levels = 2 ** bits;
  const q = integers(seed, N * K, levels); // [N, K]
  const middle = levels / 2;
  const zeros = integers(seed + 1, groups * N, 5).map((z) => middle + (symmetric ? 0 : z - 2)); // [groups, N]
  const halves = Uint16Array.from(integers(seed + 2, groups * N, 100), (s) =>
    f32ToF16((0.4 + s / 100) / levels),
  );
  const inOrder = Array.from({ length: K }, (_, k) => Math.floor(k / (group === -1 ? K : group)));
  const groupOf = ordered ? shuffled(seed, inOrder) : inOrder;
  const values = Float32Array.from(q, (value, i) => {
    const at = groupOf[i % K]! * N + Math.floor(i / K);
    return (value - zeros[at]!) * f16ToF32(halves[at]!);
  });
  return { q, zeros, halves, groupOf, groups, values };
}

function shuffled(seed: number, list: readonly number[]): number[] {
  const keys = integers(seed + 3, list.length, 2 ** 30);
  return list
    .map((_, i) => i)
    .sort((a, b) => keys[a]! - keys[b]!)
    .map((i) => list[i]!);
}

/** A matrix in GPTQ's layout. */
export const gptqMatrix =
  (options: Grouped): MakeMatrix =>
  (seed, N, K) => {
    const { bits, ordered, version = 1 } = options;
    const per = 32 / bits;
    const { q, zeros, halves, groupOf, groups, values } = grouped(seed, N, K, options);
    const place = (i: number) => [Math.floor((i % K) / per) * N + Math.floor(i / K), (i % K) % per] as const;
    const zeroPlace = (i: number) => [Math.floor(i / per), i % per] as const;
    const stored = zeros.map((z) => (version === 1 ? z - 1 : z));
    return {
      values,
      parts: {
        qweight: words([K / per, N], pack(q, bits, (N * K) / per, place)),
        qzeros: words([groups, N / per], pack(stored, bits, (groups * N) / per, zeroPlace)),
        scales: { dtype: 'F16', shape: [groups, N], data: halves },
        ...(ordered && { g_idx: words([K], Int32Array.from(groupOf)) }),
      },
    };
  };

/** A GPTQ matrix with f32 scales, times `factor`. */
export const withWideScales =
  (make: MakeMatrix, factor = 1): MakeMatrix =>
  (...sizes) => {
    const { parts, values } = make(...sizes);
    const { shape, data } = parts.scales!;
    const scales = Float32Array.from(data as Uint16Array, (half) => factor * f16ToF32(half));
    return { values, parts: { ...parts, scales: floats(shape, scales) } };
  };

/** A matrix in AWQ's layout: word w holds columns 8w + 0 2 4 6 1 3 5 7. */
export const awqMatrix =
  (group: number): MakeMatrix =>
  (seed, N, K) => {
    const { q, zeros, halves, groups, values } = grouped(seed, N, K, { bits: 4, group });
    const nibbleOf = [0, 4, 1, 5, 2, 6, 3, 7];
    const place = (row: number, n: number) => [(row * N) / 8 + Math.floor(n / 8), nibbleOf[n % 8]!] as const;
    return {
      values,
      parts: {
        qweight: words(
          [K, N / 8],
          pack(q, 4, (N * K) / 8, (i) => place(i % K, Math.floor(i / K))),
        ),
        qzeros: words(
          [groups, N / 8],
          pack(zeros, 4, (groups * N) / 8, (i) => place(Math.floor(i / N), i % N)),
        ),
        scales: { dtype: 'F16', shape: [groups, N], data: halves },
      },
    };
  };

/** A matrix of 8-bit floats with scales of a given shape; `name` is the scale's suffix. */
export const f8Matrix =
  (
    format: keyof typeof f8Values,
    scale: { readonly name: string; readonly shape: (N: number, K: number) => readonly number[] } | undefined,
    block: readonly [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ): MakeMatrix =>
  (seed, N, K) => {
    const bytes = Uint8Array.from(integers(seed, N * K, 2 ** 8), (byte) => byte & 0xb7); // below 1
    const shape = scale?.shape(N, K) ?? [];
    const across = Math.max(1, Math.ceil(K / block[1]));
    const scales = Float32Array.from(
      integers(
        seed + 1,
        shape.reduce((product, size) => product * size, 1),
        100,
      ),
      (x) => (scale ? 0.1 + x / 300 : 1),
    );
    const values = Float32Array.from(bytes, (byte, i) => {
      const at = Math.floor(Math.floor(i / K) / block[0]) * across + Math.floor((i % K) / block[1]);
      return f8Values[format][byte]! * scales[at]!;
    });
    const dtype = format === 'f8_e4m3' ? 'F8_E4M3' : 'F8_E5M2';
    return {
      values,
      parts: {
        weight: { dtype, shape: [N, K], data: bytes },
        ...(scale && { [scale.name]: floats(shape, scales) }),
      },
    };
  };

/** A float64 matrix whose values f32 must round. */
export const f64Matrix: MakeMatrix = (seed, N, K) => {
  const doubles = Float64Array.from(integers(seed, N * K, 2 ** 30), (x) => x / 2 ** 31 - 0.25);
  return {
    values: Float32Array.from(doubles),
    parts: { weight: { dtype: 'F64', shape: [N, K], data: doubles } },
  };
};

/** Sizes of the test models: D 64, H 4, Hk 2, d 16, F 128, V 32, two layers; `widths` times D, d and F. */
const config = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 128,
  vocab_size: 32,
  max_position_embeddings: 64,
};
const matrices: Readonly<Record<string, readonly [number, number]>> = {
  'self_attn.q_proj': [64, 64],
  'self_attn.k_proj': [32, 64],
  'self_attn.v_proj': [32, 64],
  'self_attn.o_proj': [64, 64],
  'mlp.gate_proj': [128, 64],
  'mlp.up_proj': [128, 64],
  'mlp.down_proj': [64, 128],
};

/**
 * Writes two folders of one model: its matrices in the layout of `make`, and as dequantised floats.
 * @returns the folders, and the values of every matrix
 */
export function writeFolders(
  name: string,
  quantization_config: object | undefined,
  make: MakeMatrix,
  widths = 1,
) {
  const D = widths * config.hidden_size;
  const sizes = { ...config, hidden_size: D, intermediate_size: widths * config.intermediate_size };
  const common: Record<string, Stored> = {
    'model.embed_tokens.weight': dense(1, [32, D]),
    'model.norm.weight': dense(2, [D]),
    'lm_head.weight': dense(3, [32, D]),
  };
  const quantised: Record<string, Stored> = {};
  const plain: Record<string, Stored> = {};
  const values = new Map<string, Float32Array>();
  let seed = 10;
  for (const layer of ['model.layers.0', 'model.layers.1']) {
    for (const norm of ['input_layernorm', 'post_attention_layernorm'])
      common[`${layer}.${norm}.weight`] = dense(seed++, [D]);
    for (const [stem, shape] of Object.entries(matrices)) {
      const [N, K] = [widths * shape[0], widths * shape[1]];
      seed += 10;
      const matrix = make(seed, N, K);
      for (const [end, part] of Object.entries(matrix.parts)) quantised[`${layer}.${stem}.${end}`] = part;
      plain[`${layer}.${stem}.weight`] = floats([N, K], matrix.values);
      values.set(`${layer}.${stem}.weight`, matrix.values);
    }
  }
  return {
    quantised: writeFolder(
      `${name}-quantised`,
      { ...sizes, quantization_config },
      { ...common, ...quantised },
    ),
    plain: writeFolder(`${name}-plain`, sizes, { ...common, ...plain }),
    values,
  };
}

function dense(seed: number, shape: readonly number[]): Stored {
  return floats(shape, Float32Array.from(normal(seed, shape, 0.5).values));
}

/** Writes a folder with config.json and model.safetensors. */
export function writeFolder(name: string, json: object, tensors: Readonly<Record<string, Stored>>): string {
  const path = scratch(name);
  mkdirSync(path, { recursive: true });
  writeFileSync(`${path}/config.json`, JSON.stringify(json));
  writeSafetensors(`${path}/model.safetensors`, tensors);
  return path;
}

export function writeSafetensors(path: string, tensors: Readonly<Record<string, Stored>>): void {
  let end = 0;
  const header = Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
    const begin = end;
    end += data.byteLength;
    return [name, { dtype, shape, data_offsets: [begin, end] }];
  });
  const json = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const data = Object.values(tensors).map(({ data: { buffer, byteOffset, byteLength } }) =>
    Buffer.from(buffer, byteOffset, byteLength),
  );
  writeFileSync(path, Buffer.concat([length, json, ...data]));
}
