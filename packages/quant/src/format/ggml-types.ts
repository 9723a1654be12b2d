import { formatOfType } from './formats.js';

/** `ggml_type` numbers that exist but that Quern does not read, with names for error messages. */
const otherTypes: Readonly<Record<number, string>> = {
  4: 'q4_2 (removed from ggml)',
  5: 'q4_3 (removed from ggml)',
  9: 'q8_1',
  15: 'q8_k',
  31: 'q4_0_4_4 (removed from ggml)',
  32: 'q4_0_4_8 (removed from ggml)',
  33: 'q4_0_8_8 (removed from ggml)',
  36: 'iq4_nl_4_4 (removed from ggml)',
  37: 'iq4_nl_4_8 (removed from ggml)',
  38: 'iq4_nl_8_8 (removed from ggml)',
  42: 'q2_0',
};

/** ggml's name for a `ggml_type` number, whether Quern reads it or not; undefined if ggml has no such type. */
export function ggmlTypeName(typeId: number): string | undefined {
  return formatOfType(typeId) ?? otherTypes[typeId];
}
