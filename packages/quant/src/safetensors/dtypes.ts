/** Bits per element of each safetensors dtype. Quern's name is the file's in lower case. */
export const dtypeBits = {
  bool: 8,
  u8: 8,
  i8: 8,
  u16: 16,
  i16: 16,
  f16: 16,
  bf16: 16,
  u32: 32,
  i32: 32,
  f32: 32,
  u64: 64,
  i64: 64,
  f64: 64,
  c64: 64,
  f8_e4m3: 8,
  f8_e5m2: 8,
  f8_e8m0: 8,
  f8_e4m3fnuz: 8,
  f8_e5m2fnuz: 8,
  f6_e2m3: 6,
  f6_e3m2: 6,
  f4: 4,
} as const;

/** Element type of a safetensors tensor. Models use f32, f16 and bf16. */
export type SafetensorsDtype = keyof typeof dtypeBits;

/** The dtype for a name in the file, such as 'BF16', or undefined. */
export function dtypeOf(name: string): SafetensorsDtype | undefined {
  const lower = name.toLowerCase();
  return Object.hasOwn(dtypeBits, lower) ? (lower as SafetensorsDtype) : undefined;
}
