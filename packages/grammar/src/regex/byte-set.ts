/** A set of bytes: 256 bits in 8 words. */
export type ByteSet = Uint32Array;

export const hasByte = (set: ByteSet, byte: number): boolean =>
  ((set[byte >>> 5] as number) & (1 << (byte & 31))) !== 0;

/** The bytes from `low` to `high`, both included, added to `into`. */
export function addRange(into: ByteSet, low: number, high: number): ByteSet {
  for (let byte = low; byte <= high; byte++)
    into[byte >>> 5] = (into[byte >>> 5] as number) | (1 << (byte & 31));
  return into;
}

export const byteRange = (low: number, high: number): ByteSet => addRange(new Uint32Array(8), low, high);

export const isEmptySet = (set: ByteSet): boolean => set.every((word) => word === 0);

export function addAll(into: ByteSet, set: ByteSet): void {
  for (let i = 0; i < 8; i++) into[i] = (into[i] as number) | (set[i] as number);
}
