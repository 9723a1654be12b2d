import type { DeviceCeilings } from '@quern/runtime';

const giga = (value: number): string => (value / 1e9).toFixed(value < 1e11 ? 1 : 0);

/** A device's ceilings in one line. */
export function showCeilings({ readBandwidth, readBandwidthOneThread, rates }: DeviceCeilings): string {
  const operations = Object.entries(rates).map(([type, value]) => `${type} ${giga(value)}`);
  const oneThread =
    readBandwidthOneThread === undefined ? '' : `, ${giga(readBandwidthOneThread)} with one thread`;
  return `reads ${giga(readBandwidth)} GB/s${oneThread}; 10⁹ operations/s: ${operations.join(', ')}`;
}
