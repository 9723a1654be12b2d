import type { AttnConfig } from '../attention-config.js';
import { showShape } from '../dtype.js';
import { badShape } from '../op/check.js';
import type { Tensor } from '../tensor.js';

/** Checks shapes against AttnConfig. `where`: the keys, with their heads and shape. */
export function needConfigured(
  op: string,
  q: Tensor,
  kvHeads: number | undefined,
  where: string,
  shape: readonly number[],
  config: AttnConfig,
): void {
  const [, H, d] = q.shape;
  if (q.shape.length !== 3 || H !== config.heads || d !== config.headDim)
    throw badShape(
      op,
      `q must have shape [T, ${config.heads}, ${config.headDim}] (AttnConfig); got ${showShape(q.shape)}`,
    );
  if (kvHeads !== config.kvHeads)
    throw badShape(op, `${where} must have ${config.kvHeads} kv heads (AttnConfig); got ${showShape(shape)}`);
}

/** The attributes of attention, with those that are off. */
export const configuredAttributes = ({
  scale,
  causal,
  window = 0,
  softCap = 0,
  bf16 = false,
}: AttnConfig) => ({
  scale,
  causal: causal ? 1 : 0,
  window,
  softCap,
  bf16: bf16 ? 1 : 0,
});
