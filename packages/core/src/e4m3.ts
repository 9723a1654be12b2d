/** Values of E4M3 by their bits: 8-bit floats without infinities; NaN: 0x7f and 0xff. Largest: 448. */
export const e4m3Values = Float32Array.from({ length: 256 }, (_, bits) => {
  const sign = bits & 0x80 ? -1 : 1;
  const exponent = (bits >> 3) & 15;
  const fraction = (bits & 7) / 8;
  if ((bits & 0x7f) === 0x7f) return Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -6 : (1 + fraction) * 2 ** (exponent - 7));
});

export const largestE4m3 = 448;

/** The nearest whole number, ties to even. */
export function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  if (x - floor !== 0.5) return Math.round(x);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Bits of the nearest E4M3, ties to even; beyond ±448: ±448; NaN: 0x7f. */
export function f32ToE4m3(x: number): number {
  if (Number.isNaN(x)) return 0x7f;
  const magnitude = Math.min(Math.abs(x), largestE4m3);
  const exponent = Math.max(-6, Math.floor(Math.log2(magnitude)));
  const steps = roundHalfEven(magnitude / 2 ** (exponent - 3)); // 8 to 16; fewer below 2^-6
  return (x < 0 || Object.is(x, -0) ? 0x80 : 0) | ((exponent + 6) * 8 + steps);
}
