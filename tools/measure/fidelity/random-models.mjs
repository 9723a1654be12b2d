// Small random models with all matrices in one format.
import { f32ToF16 } from '../../../packages/core/dist/index.js';
import { normal, random } from '../../../packages/core/dist/testing/index.js';
import {
  byteLength,
  decode,
  encodeAll,
  formatNames,
  formats,
  isWritable,
  writeGguf,
} from '../../../packages/quant/dist/index.js';

const [layers, width, heads, kvHeads, headDim, feedForward] = [4, 256, 4, 2, 64, 512];
const [experts, chosen, expertWidth] = [4, 2, 256];
const vocabulary = 256;

const attention = {
  attn_q: [heads * headDim, width],
  attn_k: [kvHeads * headDim, width],
  attn_v: [kvHeads * headDim, width],
  attn_output: [width, heads * headDim],
};

/** Per architecture: the tensors of a layer, and own metadata. The router is F32 in every file. */
const shapes = {
  llama: {
    matrices: {
      ...attention,
      ffn_gate: [feedForward, width],
      ffn_up: [feedForward, width],
      ffn_down: [width, feedForward],
    },
    norms: { attn_norm: width, ffn_norm: width },
    metadata: {},
  },
  qwen3moe: {
    matrices: {
      ...attention,
      ffn_gate_exps: [experts, expertWidth, width],
      ffn_up_exps: [experts, expertWidth, width],
      ffn_down_exps: [experts, width, expertWidth],
    },
    router: [experts, width],
    norms: { attn_norm: width, attn_q_norm: headDim, attn_k_norm: headDim, ffn_norm: width },
    metadata: {
      expert_count: experts,
      expert_used_count: chosen,
      expert_feed_forward_length: expertWidth,
    },
  },
};
export const shapeNames = Object.keys(shapes);

/** Student's t with 4 degrees of freedom, scaled to variance 1. */
function heavyTailed(seed, shape) {
  const { values } = normal(seed, shape);
  const next = random(seed + 1);
  return values.map((z) => z / Math.sqrt(-Math.log((1 - next()) * (1 - next()))));
}

/** `values`: weights of variance 1. `factor`: on the norms' weights of channel i of the residual stream. */
const draws = {
  normal: { values: (seed, shape) => normal(seed, shape).values, factor: () => 1 },
  outliers: { values: heavyTailed, factor: (i) => (i % 97 === 5 ? 8 : 1) },
};
export const drawNames = Object.keys(draws);

/** Values of the draw in use, by seed and shape: a file in the next format has the same. */
const kept = { draw: '', values: new Map() };

function drawn(draw, seed, shape) {
  if (kept.draw !== draw) Object.assign(kept, { draw, values: new Map() });
  const key = `${seed} ${shape}`;
  if (!kept.values.has(key)) kept.values.set(key, draws[draw].values(seed, shape));
  return kept.values.get(key);
}

/** Byte of a block where its f16 scale begins, in formats that Quern reads and does not write. */
const scaleAt = {
  iq1_s: 0,
  iq2_xxs: 0,
  iq2_xs: 0,
  iq2_s: 0,
  iq3_xxs: 0,
  iq3_s: 0,
  tq1_0: 52,
  tq2_0: 64,
  q1_0: 0,
};
export const modelFormats = formatNames.filter(
  (name) => name in scaleAt || (isWritable(name) && name !== 'f64'),
);
/** Formats whose values are drawn; the others have random blocks. */
export const isDrawn = isWritable;

/** A random byte; of tq2_0: four values of 0, 1 or 2, as files have. */
const randomByte = (format, next) =>
  format === 'tq2_0'
    ? [0, 2, 4, 6].reduce((byte, bit) => byte | (Math.floor(3 * next()) << bit), 0)
    : Math.floor(256 * next());

/** Random blocks with equal scales. */
function randomBlocks(format, seed, shape, deviation) {
  const next = random(seed);
  const bytes = Uint8Array.from({ length: byteLength(format, shape) }, () => randomByte(format, next));
  const view = new DataView(bytes.buffer);
  const { blockBytes, blockSize } = formats[format];
  const setScales = (scale) => {
    for (let at = scaleAt[format]; at < bytes.length; at += blockBytes)
      view.setUint16(at, f32ToF16(scale), true);
  };
  setScales(1);
  const some = new Float32Array(16 * blockSize);
  decode(format, bytes, 0, some, 0, some.length);
  setScales((deviation * Math.sqrt(some.length)) / Math.hypot(...some));
  return bytes;
}

/** Zeros in row 0 of each matrix [N, K]: its product adds nothing to channel 0. */
function clearChannel0(values, shape) {
  const [N, K] = shape.slice(-2);
  for (let at = 0; at < values.length; at += N * K) values.fill(0, at, at + K);
}

/** The tensors of a file, each with its own seed. */
class Tensors {
  list = [];

  constructor({ format, draw, seed }) {
    Object.assign(this, { format, draw, seed });
  }

  /** A matrix for x · wᵀ: deviation 1/√K. */
  matrix(name, shape) {
    const deviation = 1 / Math.sqrt(shape.at(-1));
    if (!isWritable(this.format)) {
      const data = randomBlocks(this.format, this.nextSeed(), shape, deviation);
      this.list.push({ name, shape, format: this.format, data });
    } else {
      const values = drawn(this.draw, this.nextSeed(), shape).map((x) => deviation * x);
      if (/attn_output|ffn_down/.test(name)) clearChannel0(values, shape);
      this.add(name, shape, this.format, values);
    }
  }

  /** A matrix [N, K] of normal values, with `signal(row)` in channel 0. */
  signalled(name, shape, format, deviation, signal) {
    const { values } = normal(this.nextSeed(), shape, deviation);
    for (let row = 0; row < shape[0]; row++) values[row * shape[1]] = signal(row);
    this.add(name, shape, format, values);
  }

  norm(name, size) {
    const { values } = normal(this.nextSeed(), [size], 0.1);
    const factor = size === width ? draws[this.draw].factor : () => 1;
    this.add(
      name,
      [size],
      'f32',
      values.map((x, i) => factor(i) * (1 + x)),
    );
  }

  add(name, shape, format, values) {
    this.list.push({ name, shape, format, data: encodeAll(format, values) });
  }

  nextSeed() {
    return 7919 * this.seed + 2 * this.list.length;
  }
}

/**
 * Channel 0 of the residual stream decides which half of the experts a token takes, by its id. No layer changes it. So
 * rounding changes no choice: one changed choice is larger than all other errors, and hits either engine by chance. Of 64
 * positions 16 are for one half, 48 for the other: products of few rows and of many.
 */
const tokenSignal = (id) => (id % 4 === 0 ? 3 : -3);
const routerSignal = (expert) => (expert < experts / 2 ? 8 : -8);

function tensorsOf(shape, model) {
  const tensors = new Tensors(model);
  const embedding = isWritable(model.format) ? model.format : 'f16';
  tensors.signalled('token_embd.weight', [vocabulary, width], embedding, 1, tokenSignal);
  for (let layer = 0; layer < layers; layer++) {
    const name = (part) => `blk.${layer}.${part}.weight`;
    for (const [part, size] of Object.entries(shape.norms)) tensors.norm(name(part), size);
    for (const [part, size] of Object.entries(shape.matrices)) tensors.matrix(name(part), size);
    if (shape.router)
      tensors.signalled(name('ffn_gate_inp'), shape.router, 'f32', 1 / Math.sqrt(width), routerSignal);
  }
  tensors.norm('output_norm.weight', width);
  tensors.matrix('output.weight', [vocabulary, width]);
  return tensors.list;
}

function metadataOf(architecture, own) {
  const entries = {
    block_count: layers,
    context_length: 512,
    embedding_length: width,
    feed_forward_length: feedForward,
    'attention.head_count': heads,
    'attention.head_count_kv': kvHeads,
    'attention.key_length': headDim,
    'attention.value_length': headDim,
    'attention.layer_norm_rms_epsilon': { type: 'float32', value: 1e-5 },
    'rope.dimension_count': headDim,
    'rope.freq_base': { type: 'float32', value: 1e4 },
    vocab_size: vocabulary,
    ...own,
  };
  return {
    'general.architecture': architecture,
    ...Object.fromEntries(Object.entries(entries).map(([key, value]) => [`${architecture}.${key}`, value])),
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'gpt-2',
    'tokenizer.ggml.tokens': Array.from({ length: vocabulary }, (_, id) => `⟨${id}⟩`),
    'tokenizer.ggml.token_type': new Int32Array(vocabulary).fill(1),
    'tokenizer.ggml.merges': { type: 'array', value: [] },
    'tokenizer.ggml.add_bos_token': false,
  };
}

/** Writes a model: names of `shapeNames`, `modelFormats` and `drawNames`, and a seed. */
export async function writeRandomModel(path, { shape, ...model }) {
  const own = shapes[shape];
  await writeGguf(path, { metadata: metadataOf(shape, own.metadata), tensors: tensorsOf(own, model) });
}
