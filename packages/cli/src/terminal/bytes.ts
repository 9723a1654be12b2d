const units = ['kB', 'MB', 'GB', 'TB'] as const;

/** 1234567 → '1.2 MB': decimal units, as disks and the Hub count. */
export function showBytes(bytes: number): string {
  let [value, unit] = [bytes / 1000, 0];
  for (; value >= 999.95 && unit < units.length - 1; unit++) value /= 1000;
  return bytes < 1000 ? `${bytes} B` : `${value.toFixed(1)} ${units[unit]}`;
}
