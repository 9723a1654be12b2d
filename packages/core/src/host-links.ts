import type { DeviceLinks } from './device-profile.js';

const bytes = 2 ** 21;
const rounds = 4;

let measured: DeviceLinks | undefined;

/**
 * Copy rates of a backend that computes in host memory, from copies of 2 MB. Measured once per process, in about a
 * millisecond.
 */
export function hostLinks(): DeviceLinks {
  measured ??= measureCopies();
  return measured;
}

function measureCopies(): DeviceLinks {
  const [from, to] = [new Uint8Array(bytes).fill(1), new Uint8Array(bytes).fill(2)];
  let fastest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    to.set(from);
    fastest = Math.min(fastest, performance.now() - start);
  }
  const rate = (1000 * bytes) / Math.max(fastest, 1e-3);
  return { hostToDevice: rate, deviceToHost: rate };
}
