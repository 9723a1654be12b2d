/** The dimensions of a model; a synthetic model with them has the same cost. */
export interface ModelShape {
  readonly architecture: 'llama' | 'qwen3' | 'qwen3moe' | 'gemma3' | 'phi3';
  readonly layers: number;
  /** D, the width of the residual stream. */
  readonly width: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  readonly tied: boolean;
  readonly theta: number;
  readonly normEps: number;
  readonly context: number;
  /** Elements of a head that rotate; absent: all. */
  readonly rotaryDim?: number;
  /** Sliding window and RoPE base of all layers except every n-th (`period`). */
  readonly windows?: { readonly size: number; readonly period: number; readonly theta: number };
  /** LongRoPE beyond this context. */
  readonly trained?: number;
  /** Replaces every layer's feed-forward. */
  readonly mixture?: { readonly experts: number; readonly chosen: number; readonly feedForward: number };
}

const qwen3 = {
  architecture: 'qwen3',
  headDim: 128,
  kvHeads: 8,
  vocabulary: 151936,
  theta: 1e6,
  normEps: 1e-6,
  context: 40960,
  tied: true,
} as const;
const llama3 = {
  architecture: 'llama',
  kvHeads: 8,
  vocabulary: 128256,
  theta: 5e5,
  normEps: 1e-5,
  context: 131072,
  tied: true,
} as const;

const qwen3Moe = { ...qwen3, architecture: 'qwen3moe' } as const;

/** Declarations then hold the names alone. */
const named = <Name extends string>(shapes: Readonly<Record<Name, ModelShape>>) => shapes;

/** Source: config.json of each model. qwen3-moe-12x64 is not a published model: a small one for quick runs. */
export const modelShapes = named({
  'qwen3-0.6b': { ...qwen3, layers: 28, width: 1024, heads: 16, feedForward: 3072 },
  'qwen3-1.7b': { ...qwen3, layers: 28, width: 2048, heads: 16, feedForward: 6144 },
  'qwen3-4b': { ...qwen3, layers: 36, width: 2560, heads: 32, feedForward: 9728 },
  'qwen3-8b': { ...qwen3, layers: 36, width: 4096, heads: 32, feedForward: 12288, tied: false },
  'qwen3-30b-a3b': {
    ...qwen3Moe,
    layers: 48,
    width: 2048,
    heads: 32,
    kvHeads: 4,
    feedForward: 6144,
    tied: false,
    mixture: { experts: 128, chosen: 8, feedForward: 768 },
  },
  'qwen3-moe-12x64': {
    ...qwen3Moe,
    layers: 12,
    width: 1024,
    heads: 16,
    feedForward: 3072,
    mixture: { experts: 64, chosen: 8, feedForward: 512 },
  },
  'llama-3.2-1b': { ...llama3, layers: 16, width: 2048, heads: 32, headDim: 64, feedForward: 8192 },
  'llama-3.2-3b': { ...llama3, layers: 28, width: 3072, heads: 24, headDim: 128, feedForward: 8192 },
  'llama-3.1-8b': {
    ...llama3,
    layers: 32,
    width: 4096,
    heads: 32,
    headDim: 128,
    feedForward: 14336,
    tied: false,
  },
  'gemma3-1b': {
    architecture: 'gemma3',
    layers: 26,
    width: 1152,
    heads: 4,
    kvHeads: 1,
    headDim: 256,
    feedForward: 6912,
    vocabulary: 262144,
    tied: true,
    theta: 1e6,
    normEps: 1e-6,
    context: 32768,
    windows: { size: 512, period: 6, theta: 1e4 },
  },
  'phi-4-mini': {
    architecture: 'phi3',
    layers: 32,
    width: 3072,
    heads: 24,
    kvHeads: 8,
    headDim: 128,
    feedForward: 8192,
    vocabulary: 200064,
    tied: true,
    theta: 1e4,
    normEps: 1e-5,
    context: 131072,
    rotaryDim: 96,
    trained: 4096,
  },
});

export type ModelShapeName = keyof typeof modelShapes;
