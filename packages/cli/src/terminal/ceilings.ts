import type { DeviceCeilings } from '@quern/runtime';
import { giga } from './figure.js';

/** A device's ceilings in one line. */
export function showCeilings(ceilings: DeviceCeilings): string {
  const { readBandwidth, readBandwidthOneThread, rates, estimated } = ceilings;
  const operations = Object.entries(rates).map(([type, value]) => `${type} ${giga(value)}`);
  const oneThread =
    readBandwidthOneThread === undefined ? '' : `, ${giga(readBandwidthOneThread)} with one thread`;
  return `reads ${giga(readBandwidth)} GB/s${oneThread}; 10⁹ operations/s: ${operations.join(', ')}${estimated ? ' (estimated)' : ''}`;
}
