import type { AnyOp } from '../op/define-op.js';
import { add } from './add.js';
import { argmax } from './argmax.js';
import { attention } from './attention.js';
import { cast } from './cast.js';
import { clamp } from './clamp.js';
import { conv1d } from './conv1d.js';
import { embed } from './embed.js';
import { expertLinear } from './expert-linear.js';
import { gatedDelta } from './gated-delta.js';
import { gatherRows } from './gather-rows.js';
import { geglu } from './geglu.js';
import { gelu } from './gelu.js';
import { kvAppend } from './kv-append.js';
import { l2Normalise } from './l2-normalise.js';
import { layerNorm } from './layer-norm.js';
import { linear } from './linear.js';
import { logProbs } from './log-probs.js';
import { log10 } from './log10.js';
import { maskLogits } from './mask-logits.js';
import { mul } from './mul.js';
import { penalise } from './penalise.js';
import { pool } from './pool.js';
import { rmsNorm } from './rms-norm.js';
import { rope } from './rope.js';
import { ropeTable } from './rope-table.js';
import { route } from './route.js';
import { sample } from './sample.js';
import { scale } from './scale.js';
import { shortConv } from './short-conv.js';
import { sigmoid } from './sigmoid.js';
import { silu } from './silu.js';
import { softmax } from './softmax.js';
import { softplus } from './softplus.js';
import { swiglu } from './swiglu.js';
import { tanh } from './tanh.js';
import { topK } from './top-k.js';
import { uncachedAttention } from './uncached-attention.js';
import { weightedSum } from './weighted-sum.js';

/** Every core op. A driver has a kernel for each; the order gives the opcodes of encoded plans. */
export const coreOps = {
  embed,
  linear,
  add,
  mul,
  scale,
  rmsNorm,
  silu,
  gelu,
  swiglu,
  geglu,
  ropeTable,
  rope,
  attention,
  kvAppend,
  softmax,
  argmax,
  topK,
  maskLogits,
  penalise,
  gatherRows,
  cast,
  expertLinear,
  weightedSum,
  layerNorm,
  uncachedAttention,
  pool,
  l2Normalise,
  conv1d,
  log10,
  tanh,
  sample,
  logProbs,
  clamp,
  shortConv,
  gatedDelta,
  route,
  sigmoid,
  softplus,
} as const satisfies Record<string, AnyOp>;

export type CoreOpName = keyof typeof coreOps;
