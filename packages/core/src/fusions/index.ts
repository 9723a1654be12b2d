import type { AnyOp } from '../op/define-op.js';
import { addLayerNorm } from './add-layer-norm.js';
import { addLowRank } from './add-low-rank.js';
import { addRmsNorm } from './add-rms-norm.js';
import { biasGelu } from './bias-gelu.js';
import { gateUpSwiglu } from './gate-up-swiglu.js';
import { linearArgmax } from './linear-argmax.js';
import { linearMask } from './linear-mask.js';
import { moe } from './moe.js';
import { qkNormRopeAppend } from './qk-norm-rope-append.js';
import { qkvLinear } from './qkv-linear.js';

/**
 * Every fused op. Drivers may have kernels for any of them. Core ops define each. Core rewrites plans to use them; only
 * `moe` is recorded by name.
 */
export const fusedOps = {
  addRmsNorm,
  gateUpSwiglu,
  qkvLinear,
  qkNormRopeAppend,
  linearArgmax,
  moe,
  addLayerNorm,
  biasGelu,
  addLowRank,
  linearMask,
} as const satisfies Record<string, AnyOp>;

export type FusedOpName = keyof typeof fusedOps;
