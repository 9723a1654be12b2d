/** A measured number: 132, 48.2, 0.31, 0.0012. Small numbers keep two significant digits. */
export function figure(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 1 || value === 0 ? value.toFixed(1) : value.toPrecision(2);
}

/** In 10⁹. */
export const giga = (value: number): string => figure(value / 1e9);
