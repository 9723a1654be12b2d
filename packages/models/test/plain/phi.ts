// Phi-3 after its report (Abdin et al. 2024), LongRoPE (Ding et al. 2024), and transformers' classes.

import * as plain from './decoder.js';

export interface PhiSizes {
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly eps: number;
  /** 0: all positions. */
  readonly window: number;
  readonly rotation: plain.Rotation;
  readonly output: 'model.embed_tokens' | 'lm_head';
}

/** LongRoPE's factor on cos and sin: √(1 + ln(L' / L) / ln L). */
export const longRopeMagnitude = (context: number, original: number): number =>
  context <= original ? 1 : Math.sqrt(1 + Math.log(context / original) / Math.log(original));

/** The logits after each token. */
export function plainPhi(parameters: plain.Parameters, ids: readonly number[], sizes: PhiSizes): number[][] {
  const { heads, kvHeads, headDim: d } = sizes;
  const caches = plain.emptyCaches(sizes.layers);
  const norm = (name: string, x: plain.Vector) =>
    plain.rmsNorm(x, plain.row(parameters, `${name}.weight`), sizes.eps);
  const times = (name: string, x: plain.Vector) => plain.times(parameters, `${name}.weight`, x);

  const attention = (prefix: string, x: plain.Vector, layer: number, position: number) => {
    const all = plain.headsOf(times(`${prefix}.qkv_proj`, x), d); // q, then k, then v
    const rotated = all.slice(0, heads + kvHeads).map((head) => plain.rotate(head, position, sizes.rotation));
    const cache = caches[layer]!;
    cache.keys.push(rotated.slice(heads));
    cache.values.push(all.slice(heads + kvHeads));
    const y = plain.attendAll(rotated.slice(0, heads), cache, { scale: d ** -0.5, window: sizes.window });
    return times(`${prefix}.o_proj`, y);
  };

  const feedForward = (prefix: string, x: plain.Vector) => {
    const both = times(`${prefix}.gate_up_proj`, x); // gate, then up
    const half = both.length / 2;
    const inner = both.slice(0, half).map((gate, i) => plain.silu(gate) * both[half + i]!);
    return times(`${prefix}.down_proj`, inner);
  };

  return ids.map((id, position) => {
    let x = plain.row(parameters, 'model.embed_tokens.weight', id);
    for (let layer = 0; layer < sizes.layers; layer++) {
      const p = `model.layers.${layer}`;
      x = plain.add(x, attention(`${p}.self_attn`, norm(`${p}.input_layernorm`, x), layer, position));
      x = plain.add(x, feedForward(`${p}.mlp`, norm(`${p}.post_attention_layernorm`, x)));
    }
    return times(sizes.output, norm('model.norm', x));
  });
}
