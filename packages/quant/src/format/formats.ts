/** How a weight format lays its elements out: `blockSize` elements share a block of `blockBytes` bytes. */
export interface FormatLayout {
  readonly name: string;
  /** The `ggml_type` number that GGUF files store. */
  readonly typeId: number;
  /** Elements per block: a power of two, at most 256. A row (innermost dimension) holds whole blocks. */
  readonly blockSize: number;
  readonly blockBytes: number;
}

/** The formats that Quern reads, with ggml's type numbers and block sizes (ggml-common.h). All are little-endian. */
export const formats = {
  f32: { name: 'f32', typeId: 0, blockSize: 1, blockBytes: 4 },
  f16: { name: 'f16', typeId: 1, blockSize: 1, blockBytes: 2 },
  bf16: { name: 'bf16', typeId: 30, blockSize: 1, blockBytes: 2 },
  q4_0: { name: 'q4_0', typeId: 2, blockSize: 32, blockBytes: 18 },
  q4_1: { name: 'q4_1', typeId: 3, blockSize: 32, blockBytes: 20 },
  q5_0: { name: 'q5_0', typeId: 6, blockSize: 32, blockBytes: 22 },
  q5_1: { name: 'q5_1', typeId: 7, blockSize: 32, blockBytes: 24 },
  q8_0: { name: 'q8_0', typeId: 8, blockSize: 32, blockBytes: 34 },
  q2_k: { name: 'q2_k', typeId: 10, blockSize: 256, blockBytes: 84 },
  q3_k: { name: 'q3_k', typeId: 11, blockSize: 256, blockBytes: 110 },
  q4_k: { name: 'q4_k', typeId: 12, blockSize: 256, blockBytes: 144 },
  q5_k: { name: 'q5_k', typeId: 13, blockSize: 256, blockBytes: 176 },
  q6_k: { name: 'q6_k', typeId: 14, blockSize: 256, blockBytes: 210 },
  iq4_nl: { name: 'iq4_nl', typeId: 20, blockSize: 32, blockBytes: 18 },
  iq4_xs: { name: 'iq4_xs', typeId: 23, blockSize: 256, blockBytes: 136 },
  mxfp4: { name: 'mxfp4', typeId: 39, blockSize: 32, blockBytes: 17 },
  iq1_s: { name: 'iq1_s', typeId: 19, blockSize: 256, blockBytes: 50 },
  iq1_m: { name: 'iq1_m', typeId: 29, blockSize: 256, blockBytes: 56 },
  iq2_xxs: { name: 'iq2_xxs', typeId: 16, blockSize: 256, blockBytes: 66 },
  iq2_xs: { name: 'iq2_xs', typeId: 17, blockSize: 256, blockBytes: 74 },
  iq2_s: { name: 'iq2_s', typeId: 22, blockSize: 256, blockBytes: 82 },
  iq3_xxs: { name: 'iq3_xxs', typeId: 18, blockSize: 256, blockBytes: 98 },
  iq3_s: { name: 'iq3_s', typeId: 21, blockSize: 256, blockBytes: 110 },
  tq1_0: { name: 'tq1_0', typeId: 34, blockSize: 256, blockBytes: 54 },
  tq2_0: { name: 'tq2_0', typeId: 35, blockSize: 256, blockBytes: 66 },
  nvfp4: { name: 'nvfp4', typeId: 40, blockSize: 64, blockBytes: 36 },
  q1_0: { name: 'q1_0', typeId: 41, blockSize: 128, blockBytes: 18 },
  f64: { name: 'f64', typeId: 28, blockSize: 1, blockBytes: 8 },
  i8: { name: 'i8', typeId: 24, blockSize: 1, blockBytes: 1 },
  i16: { name: 'i16', typeId: 25, blockSize: 1, blockBytes: 2 },
  i32: { name: 'i32', typeId: 26, blockSize: 1, blockBytes: 4 },
  i64: { name: 'i64', typeId: 27, blockSize: 1, blockBytes: 8 },
} as const satisfies Record<string, FormatLayout>;

/** The name of a weight format that Quern reads. */
export type GgufFormat = keyof typeof formats;

/** Every format name, in the order of the table. */
export const formatNames = Object.keys(formats) as readonly GgufFormat[];

const byTypeId = new Map<number, GgufFormat>(formatNames.map((name) => [formats[name].typeId, name]));

/** The format with this `ggml_type` number, or undefined where Quern does not read it (see `ggmlTypeName`). */
export function formatOfType(typeId: number): GgufFormat | undefined {
  return byTypeId.get(typeId);
}

/** True where `name` is a format that Quern reads. */
export function isGgufFormat(name: string): name is GgufFormat {
  return Object.hasOwn(formats, name);
}
