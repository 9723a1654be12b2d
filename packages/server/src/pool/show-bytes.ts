const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** For messages: 1536000000 → '1.54 GB'. */
export function showBytes(bytes: number): string {
  const power = Math.floor(Math.log10(Math.max(1, bytes)) / 3);
  const unit = Math.min(units.length - 1, power);
  const value = bytes / 1000 ** unit;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toPrecision(3)} ${units[unit]}`;
}
