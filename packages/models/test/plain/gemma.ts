// Gemma 2 and 3 after their papers (Gemma Team 2024, 2025) and transformers' classes.

import * as plain from './decoder.js';

export interface GemmaSizes {
  readonly layers: number;
  readonly width: number;
  readonly headDim: number;
  readonly eps: number;
  readonly window: number;
  /** Every n-th layer has full attention. */
  readonly period: number;
  readonly queryScalar: number;
  readonly globalRotation: plain.Rotation;
  readonly localRotation: plain.Rotation;
  readonly headNorms: boolean;
  readonly attentionCap?: number;
  readonly logitCap?: number;
  /** Replaces gelu's tanh form. */
  readonly gelu?: (x: number) => number;
}

/** The logits after each token. */
export function plainGemma(
  parameters: plain.Parameters,
  ids: readonly number[],
  sizes: GemmaSizes,
): number[][] {
  const caches = plain.emptyCaches(sizes.layers);
  const norm = (name: string, x: plain.Vector) => {
    const w = plain.row(parameters, `${name}.weight`).map((value) => 1 + value);
    return plain.rmsNorm(x, w, sizes.eps);
  };
  const times = (name: string, x: plain.Vector) => plain.times(parameters, `${name}.weight`, x);

  const attention = (prefix: string, x: plain.Vector, layer: number, position: number) => {
    const isGlobal = (layer + 1) % sizes.period === 0;
    const rotation = isGlobal ? sizes.globalRotation : sizes.localRotation;
    const heads = (part: string) => plain.headsOf(times(`${prefix}.${part}_proj`, x), sizes.headDim);
    const rotated = (part: string) =>
      heads(part)
        .map((head) => (sizes.headNorms ? norm(`${prefix}.${part}_norm`, head) : head))
        .map((head) => plain.rotate(head, position, rotation));
    const cache = caches[layer]!;
    cache.keys.push(rotated('k'));
    cache.values.push(heads('v'));
    const y = plain.attendAll(rotated('q'), cache, {
      scale: sizes.queryScalar ** -0.5,
      window: isGlobal ? 0 : sizes.window,
      ...(sizes.attentionCap !== undefined && { cap: sizes.attentionCap }),
    });
    return times(`${prefix}.o_proj`, y);
  };

  const feedForward = (prefix: string, x: plain.Vector) => {
    const up = times(`${prefix}.up_proj`, x);
    const gate = times(`${prefix}.gate_proj`, x).map(sizes.gelu ?? plain.geluTanh);
    const inner = gate.map((value, i) => value * up[i]!);
    return times(`${prefix}.down_proj`, inner);
  };

  return ids.map((id, position) => {
    const embedded = plain.row(parameters, 'model.embed_tokens.weight', id);
    let x = embedded.map((value) => value * Math.sqrt(sizes.width));
    for (let layer = 0; layer < sizes.layers; layer++) {
      const p = `model.layers.${layer}`;
      const attended = attention(`${p}.self_attn`, norm(`${p}.input_layernorm`, x), layer, position);
      x = plain.add(x, norm(`${p}.post_attention_layernorm`, attended));
      const fed = feedForward(`${p}.mlp`, norm(`${p}.pre_feedforward_layernorm`, x));
      x = plain.add(x, norm(`${p}.post_feedforward_layernorm`, fed));
    }
    const logits = times('model.embed_tokens', norm('model.norm', x));
    const { logitCap: cap } = sizes;
    return cap === undefined ? logits : logits.map((logit) => cap * Math.tanh(logit / cap));
  });
}
