// A second Pumice for the test, from the equations of OLMo 2: lists of numbers, position by position.

type Vector = readonly number[];
/** A tensor's values and shape, by Hugging Face name. */
export type Parameters = ReadonlyMap<
  string,
  { readonly shape: readonly number[]; readonly values: Float32Array }
>;

const add = (a: Vector, b: Vector) => a.map((value, i) => value + b[i]!);
const dot = (a: Vector, b: Vector) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

export interface PlainSizes {
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly theta: number;
  readonly eps: number;
}

/** The logits after each token. */
export function plainPumice(parameters: Parameters, ids: readonly number[], sizes: PlainSizes): Vector[] {
  const { layers, heads, kvHeads, headDim: d, theta, eps } = sizes;
  const row = (name: string, r: number): Vector => {
    const { shape, values } = parameters.get(name)!;
    const length = shape.at(-1)!;
    return Array.from(values.subarray(r * length, (r + 1) * length));
  };
  const times = (name: string, x: Vector) =>
    Array.from({ length: parameters.get(name)!.shape[0]! }, (_, r) => dot(row(name, r), x));
  const norm = (name: string, x: Vector) => {
    const scale = 1 / Math.sqrt(dot(x, x) / x.length + eps);
    return x.map((value, i) => value * scale * row(name, 0)[i]!);
  };
  const rotated = (x: Vector, position: number) =>
    x.map((value, i) => {
      const [p, start] = [i % d, i - (i % d)];
      const angle = position * theta ** ((-2 * (p % (d / 2))) / d);
      const other = p < d / 2 ? -x[start + p + d / 2]! : x[start + p - d / 2]!;
      return value * Math.cos(angle) + other * Math.sin(angle);
    });
  const caches = Array.from({ length: layers }, () => ({ k: [] as Vector[], v: [] as Vector[] }));

  const attend = (prefix: string, x: Vector, layer: number, t: number): Vector => {
    const project = (part: string) => times(`${prefix}.self_attn.${part}_proj.weight`, x);
    const q = rotated(norm(`${prefix}.self_attn.q_norm.weight`, project('q')), t);
    const { k, v } = caches[layer]!;
    k.push(rotated(norm(`${prefix}.self_attn.k_norm.weight`, project('k')), t));
    v.push(project('v'));
    const y = Array.from({ length: heads }, (_, h) => {
      const of = (vector: Vector, head: number) => vector.slice(head * d, (head + 1) * d);
      const shared = Math.floor((h * kvHeads) / heads);
      const weights = k.map((key) => Math.exp(dot(of(q, h), of(key, shared)) / Math.sqrt(d)));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      return Array.from({ length: d }, (_, i) =>
        weights.reduce((sum, weight, s) => sum + (weight / total) * of(v[s]!, shared)[i]!, 0),
      );
    });
    return times(`${prefix}.self_attn.o_proj.weight`, y.flat());
  };

  return ids.map((id, t) => {
    let x = row('model.embed_tokens.weight', id);
    for (let layer = 0; layer < layers; layer++) {
      const prefix = `model.layers.${layer}`;
      x = add(x, norm(`${prefix}.post_attention_layernorm.weight`, attend(prefix, x, layer, t)));
      const up = times(`${prefix}.mlp.up_proj.weight`, x);
      const gate = times(`${prefix}.mlp.gate_proj.weight`, x).map((g) => g / (1 + Math.exp(-g)));
      const down = times(
        `${prefix}.mlp.down_proj.weight`,
        gate.map((g, i) => g * up[i]!),
      );
      x = add(x, norm(`${prefix}.post_feedforward_layernorm.weight`, down));
    }
    return times('lm_head.weight', norm('model.norm.weight', x));
  });
}
