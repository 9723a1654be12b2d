// The demo model, widened with the same logits: rows of 256 elements, one block of the K formats. The last 64 of 256
// hidden values are zero. Each of the two groups of three heads gets a fourth head with zero output weights.
const [width, wide, headDim] = [192, 256, 32];
const epsilon = 'llama.attention.layer_norm_rms_epsilon';

/** The new index of row or column i. */
const same = { size: (size) => size, at: (i) => i };
const hidden = { size: () => wide, at: (i) => i };
const heads = { size: () => wide, at: (i) => i + headDim * Math.floor(i / (3 * headDim)) };

/** Rows and columns. */
const axes = {
  token_embd: [same, hidden],
  attn_q: [heads, hidden],
  attn_k: [same, hidden],
  attn_v: [same, hidden],
  attn_output: [hidden, heads],
  ffn_gate: [same, hidden],
  ffn_up: [same, hidden],
  ffn_down: [hidden, same],
};

/** Argument and result: { metadata, tensors: [{ name, shape, values }] }. */
export function widened({ metadata, tensors }) {
  return {
    metadata: {
      ...metadata,
      'llama.embedding_length': wide,
      'llama.attention.head_count': wide / headDim,
      // The mean of squares is now over 256 values, 64 of them zero.
      [epsilon]: { type: 'float32', value: (metadata[epsilon].value * width) / wide },
    },
    tensors: tensors.map((tensor) =>
      tensor.shape.length === 1 ? widenedNorm(tensor) : widenedMatrix(tensor),
    ),
  };
}

function widenedNorm({ name, values }) {
  const scaled = values.map((value) => value * Math.sqrt(width / wide));
  return { name, shape: [wide], values: Float32Array.from({ length: wide }, (_, i) => scaled[i] ?? 0) };
}

function widenedMatrix({ name, shape: [R, C], values }) {
  const [rows, columns] = axes[name.split('.').at(-2)];
  const shape = [rows.size(R), columns.size(C)];
  const result = new Float32Array(shape[0] * shape[1]); // unassigned elements stay 0
  for (let r = 0; r < R; r++)
    for (let c = 0; c < C; c++) result[rows.at(r) * shape[1] + columns.at(c)] = values[r * C + c];
  return { name, shape, values: result };
}
