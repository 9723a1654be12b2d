import { bf16 } from './bf16.js';
import type { BlockLayout, Codec, Decoder } from './codec.js';
import { f16 } from './f16.js';
import { f32 } from './f32.js';
import { f64 } from './f64.js';
import { i8, i16, i32, i64 } from './integers.js';
import { iq1_m } from './iq1_m.js';
import { iq1_s } from './iq1_s.js';
import { iq2_s } from './iq2_s.js';
import { iq2_xs } from './iq2_xs.js';
import { iq2_xxs } from './iq2_xxs.js';
import { iq3_s } from './iq3_s.js';
import { iq3_xxs } from './iq3_xxs.js';
import { iq4_nl } from './iq4_nl.js';
import { iq4_xs } from './iq4_xs.js';
import { mxfp4 } from './mxfp4.js';
import { nvfp4 } from './nvfp4.js';
import { q1_0 } from './q1_0.js';
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
import { tq1_0 } from './tq1_0.js';
import { tq2_0 } from './tq2_0.js';

/** All formats that Quern reads, with layout and float definition; a Codec if Quern also writes the format. */
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
  iq4_nl,
  iq4_xs,
  mxfp4,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  tq1_0,
  tq2_0,
  nvfp4,
  q1_0,
  f64,
  i8,
  i16,
  i32,
  i64,
} satisfies Record<string, Decoder | Codec>;

/** Name of a format that Quern reads. */
export type GgufFormat = keyof typeof codecs;

/** The layout of a format, with its name. */
export interface FormatLayout extends BlockLayout {
  readonly name: string;
}

type Formats = { readonly [Format in GgufFormat]: FormatLayout & { readonly name: Format } };

/** The layouts by name. */
export const formats = Object.fromEntries(
  Object.entries(codecs).map(([name, { layout }]) => [name, { name, ...layout }]),
) as Formats;

type Codecs = typeof codecs;

/** A format that `encode` writes. All others are read-only. */
export type WritableFormat = {
  [Format in GgufFormat]: Codecs[Format] extends Codec ? Format : never;
}[GgufFormat];

/** Whether `encode` writes `format`. */
export function isWritable(format: GgufFormat): format is WritableFormat {
  return 'encode' in codecs[format];
}

/** All format names, in table order. */
export const formatNames = Object.keys(formats) as readonly GgufFormat[];

const byTypeId = new Map<number, GgufFormat>(formatNames.map((name) => [formats[name].typeId, name]));

/** The format with this `ggml_type` number; undefined if Quern does not read it (see `ggmlTypeName`). */
export function formatOfType(typeId: number): GgufFormat | undefined {
  return byTypeId.get(typeId);
}

/** Whether Quern reads the format `name`. */
export function isGgufFormat(name: string): name is GgufFormat {
  return Object.hasOwn(formats, name);
}
