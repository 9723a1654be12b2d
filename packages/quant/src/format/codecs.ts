import { bf16 } from './bf16.js';
import type { Codec } from './codec.js';
import { f16 } from './f16.js';
import { f32 } from './f32.js';
import type { GgufFormat } from './formats.js';
import { q2_k } from './q2_k.js';
import { q3_k } from './q3_k.js';
import { q4_0 } from './q4_0.js';
import { q4_1 } from './q4_1.js';
import { q4_k } from './q4_k.js';
import { q5_0 } from './q5_0.js';
import { q5_1 } from './q5_1.js';
import { q5_k } from './q5_k.js';
import { q6_k } from './q6_k.js';
import { q8_0 } from './q8_0.js';

/** The float definition of every format. */
export const codecs = {
  f32,
  f16,
  bf16,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
} satisfies Record<GgufFormat, Codec>;
