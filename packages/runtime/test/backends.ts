import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { referenceDriver } from '@quern/backend-reference';
import { type Backend, type DriverBuffer, defineBackend } from '@quern/core';
import { cases, forcedIsa } from '../../../test-scope.js';

const addon = fileURLToPath(new URL('../../backend-cpu/build/Release/backend_cpu.node', import.meta.url));

export const hasCpu = existsSync(addon);

if (!hasCpu)
  console.warn(`tests on backend-cpu are skipped: ${addon} has not been built (nx build-native backend-cpu)`);

const cpuinfo = existsSync('/proc/cpuinfo') ? readFileSync('/proc/cpuinfo', 'utf8') : '';
const has = (...flags: readonly string[]) => flags.every((flag) => new RegExp(`\\b${flag}\\b`).test(cpuinfo));

/** Instruction sets of backend-cpu on this machine, best last. */
const levels = [
  'scalar',
  ...(process.arch === 'arm64' ? ['neon'] : []),
  ...(has('asimddp') ? ['dotprod'] : []),
  ...(has('asimddp', 'i8mm') ? ['i8mm'] : []),
  ...(has('avx2') ? ['avx2'] : []),
  ...(has('avx512f') ? ['avx512'] : []),
  ...(has('avx512_vnni') ? ['avx512-vnni'] : []),
  ...(has('avx512_bf16', 'AuthenticAMD') ? ['avx512-bf16'] : []),
  ...(has('avx512_bf16', 'amx_int8', 'amx_bf16') ? ['amx'] : []),
];

/** Tested instruction sets, best last: the forced or best one; with `npm run test:all` all. */
export const cpuLevels = forcedIsa === undefined ? cases(levels, levels.slice(-1)) : [forcedIsa];

/** The reference backend, with a count of live allocations. */
export function countingBackend(freeMemory?: number): {
  backend: Backend;
  live(): { buffers: number; weights: number };
} {
  const driver = referenceDriver();
  const buffers = new Set<DriverBuffer>();
  let weights = 0;
  const backend = defineBackend({
    ...driver,
    ...(freeMemory !== undefined && { freeMemory: () => freeMemory }),
    memory: {
      ...driver.memory,
      allocate(byteLength) {
        const buffer = driver.memory.allocate(byteLength);
        buffers.add(buffer);
        return buffer;
      },
      free(buffer) {
        buffers.delete(buffer);
        driver.memory.free(buffer);
      },
    },
    async loadWeight(source) {
      const weight = await driver.loadWeight(source);
      weights++;
      return weight;
    },
    freeWeight(weight) {
      weights--;
      driver.freeWeight(weight);
    },
  });
  return { backend, live: () => ({ buffers: buffers.size, weights }) };
}
