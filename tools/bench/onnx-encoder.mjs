// Converts a GGUF encoder to ONNX, op by op like PyTorch's export of BERT. Matrices: f32, or int8 like onnxruntime's
// quantize_dynamic: one scale per matrix, activations quantised at use.
import { open } from 'node:fs/promises';
import { decode, openGguf } from '../../packages/quant/dist/index.js';
import { OnnxGraph } from './onnx-file.mjs';

/** Reads the tensors of a GGUF file as floats. */
async function readWeights(path) {
  const { tensors, metadata } = await openGguf(path);
  const weights = new Map();
  for (const { name, shape, format, path: part, offset, byteLength } of tensors) {
    const file = await open(part);
    const bytes = new Uint8Array(byteLength);
    await file.read(bytes, 0, byteLength, offset);
    await file.close();
    const values = new Float32Array(shape.reduce((product, d) => product * d, 1));
    decode(format, bytes, 0, values, 0, values.length);
    weights.set(name, { shape, values });
  }
  return { weights, metadata };
}

/** [N, K] → [K, N] for MatMul. */
function transposed({ shape: [N, K], values }) {
  const result = new Float32Array(N * K);
  for (let n = 0; n < N; n++) for (let k = 0; k < K; k++) result[k * N + n] = values[n * K + k];
  return result;
}

/** The ops of an encoder with the weights of a file. */
class EncoderGraph {
  graph = new OnnxGraph();
  #quantised = new Map();

  constructor(weights, int8) {
    this.weights = weights;
    this.int8 = int8;
  }

  floats(name) {
    const { shape, values } = this.weights.get(name);
    return this.graph.constant('float', shape, values);
  }

  scalar(value) {
    return this.graph.constant('float', [], [value]);
  }

  op(type, ...inputs) {
    return this.graph.op(type, inputs);
  }

  linear(x, name) {
    const product = this.int8 ? this.#int8Product(x, name) : this.#floatProduct(x, name);
    return this.op('Add', this.floats(`${name}.bias`), product);
  }

  layerNorm(x, name, epsilon) {
    const inputs = [x, this.floats(`${name}.weight`), this.floats(`${name}.bias`)];
    return this.graph.op('LayerNormalization', inputs, { axis: -1, epsilon });
  }

  gelu(x) {
    const erf = this.op('Erf', this.op('Div', x, this.scalar(Math.SQRT2)));
    return this.op('Mul', this.op('Mul', x, this.op('Add', erf, this.scalar(1))), this.scalar(0.5));
  }

  #floatProduct(x, name) {
    const matrix = this.weights.get(`${name}.weight`);
    const [N, K] = matrix.shape;
    return this.op('MatMul', x, this.graph.constant('float', [K, N], transposed(matrix)));
  }

  #int8Product(x, name) {
    const matrix = this.weights.get(`${name}.weight`);
    const [N, K] = matrix.shape;
    const step = matrix.values.reduce((top, v) => Math.max(top, Math.abs(v)), 0) / 127;
    const steps = transposed(matrix).map((v) => Math.round(v / step));
    if (!this.#quantised.has(x)) this.#quantised.set(x, this.graph.op('DynamicQuantizeLinear', [x], {}, 3));
    const [values, scale, zero] = this.#quantised.get(x);
    const w = this.graph.constant('int8', [K, N], steps);
    const sums = this.op('MatMulInteger', values, w, zero, this.graph.constant('int8', [], [0]));
    const scales = this.op('Mul', scale, this.scalar(step));
    return this.op('Mul', this.graph.op('Cast', [sums], { to: 'float' }), scales);
  }
}

/** Attention; every row sees its whole text: x [B, L, D] → [B, L, D]. */
function attention(e, x, block, { heads, width }) {
  const d = width / heads;
  const apart = e.graph.constant('int64', [4], [0n, 0n, BigInt(heads), BigInt(d)]);
  const together = e.graph.constant('int64', [3], [0n, 0n, BigInt(width)]);
  const turned = (part, perm) => {
    const split = e.op('Reshape', e.linear(x, `${block}.${part}`), apart); // [B, L, H, d]
    return e.graph.op('Transpose', [split], { perm });
  };
  const q = turned('attn_q', [0, 2, 1, 3]); // [B, H, L, d]
  const k = turned('attn_k', [0, 2, 3, 1]); // [B, H, d, L]
  const v = turned('attn_v', [0, 2, 1, 3]); // [B, H, L, d]
  const scores = e.op('Div', e.op('MatMul', q, k), e.scalar(Math.sqrt(d))); // [B, H, L, L]
  const y = e.op('MatMul', e.graph.op('Softmax', [scores], { axis: -1 }), v); // [B, H, L, d]
  const joined = e.op('Reshape', e.graph.op('Transpose', [y], { perm: [0, 2, 1, 3] }), together);
  return e.linear(joined, `${block}.attn_output`);
}

/**
 * The bytes of an ONNX file with the function of a BERT GGUF: ids [B, L] and positions [1, L] → normalised states of
 * the first rows, embeddings [B, D]. All texts of a batch have equal length: no mask.
 */
export async function onnxEncoder(path, { int8 }) {
  const { weights, metadata } = await readWeights(path);
  const setting = (key) => metadata.get(`bert.${key}`);
  const [layers, width, epsilon] = ['block_count', 'embedding_length', 'attention.layer_norm_epsilon'].map(
    setting,
  );
  const e = new EncoderGraph(weights, int8);
  const ids = e.graph.input('ids', 'int64', ['texts', 'length']);
  const positions = e.graph.input('positions', 'int64', [1, 'length']);
  const segment = e.graph.constant(
    'float',
    [width],
    weights.get('token_types.weight').values.subarray(0, width),
  );
  const words = e.op('Add', e.op('Gather', e.floats('token_embd.weight'), ids), segment);
  const placed = e.op('Add', words, e.op('Gather', e.floats('position_embd.weight'), positions));
  let x = e.layerNorm(placed, 'token_embd_norm', epsilon);
  for (let i = 0; i < layers; i++) {
    const block = `blk.${i}`;
    const attended = attention(e, x, block, { heads: setting('attention.head_count'), width });
    x = e.layerNorm(e.op('Add', attended, x), `${block}.attn_output_norm`, epsilon);
    const up = e.gelu(e.linear(x, `${block}.ffn_up`));
    x = e.layerNorm(e.op('Add', e.linear(up, `${block}.ffn_down`), x), `${block}.layer_output_norm`, epsilon);
  }
  const first = e.graph.op('Gather', [x, e.graph.constant('int64', [], [0n])], { axis: 1 }); // [B, D]
  const normal = e.graph.op('LpNormalization', [first], { axis: -1, p: 2 });
  return e.graph.file(normal, 'embeddings', 'float', ['texts', width]);
}
