import {
  BackendError,
  type BackendErrorCode,
  type DriverBuffer,
  type DriverGptqWeight,
  type DriverMemory,
  type DriverWeight,
  type GptqSource,
  inParts,
  type PlanChain,
  type PlanDriver,
  type PlanExecutor,
  rowsOf,
  type WeightSource,
} from '@quern/core';
import { ggufFormats } from './formats.js';
import { loadAddon, type NativeBackend, type NativePart } from './load.js';
import { blockSizes, manifest, orderedGptq } from './manifest.js';
import { withNativeBytes } from './native-bytes.js';

export interface CpuOptions {
  /** Threads that compute; when absent one per physical core, as the README says. */
  readonly threads?: number | undefined;
  /** Instruction set: 'amx', 'avx512-bf16', 'avx512-vnni', 'avx512', 'avx2', 'scalar'. QUERN_CPU_ISA, or the best this machine has, when absent. */
  readonly isa?: string | undefined;
}

const makeError = (code: string, message: string) => new BackendError(code as BackendErrorCode, message);

function createNative({ threads, isa }: CpuOptions): NativeBackend {
  if (threads !== undefined && (!Number.isInteger(threads) || threads < 1))
    throw new BackendError('BAD_ARGUMENT', `threads must be a whole number of 1 or more; got ${threads}`);
  const { NativeBackend } = loadAddon();
  return new NativeBackend(threads ?? 0, isa ?? process.env.QUERN_CPU_ISA ?? '', makeError);
}

function memoryOf(native: NativeBackend): DriverMemory<DriverBuffer> {
  return {
    allocate: (byteLength) => ({ id: native.allocate(byteLength) }),
    free: ({ id }) => native.free(id),
    async write({ id }, byteOffset, bytes) {
      native.write(id, byteOffset, bytes);
    },
    async read({ id }, byteOffset, bytes) {
      native.read(id, byteOffset, bytes);
    },
  };
}

function loadWeight(native: NativeBackend, source: WeightSource): Promise<DriverWeight> {
  const { name, shape, format, bytes } = source;
  if (!inParts(bytes))
    return withNativeBytes(native, name, [bytes], ([held]) =>
      native.loadWeight(name, shape, format, [[held!]]),
    );
  const { width } = rowsOf(source);
  const pieces = bytes.map((part) => part.bytes);
  return withNativeBytes(native, name, pieces, (held) => {
    const parts = bytes.map(
      ({ rows, columns }, i): NativePart => [held[i]!, rows, columns?.from ?? 0, columns?.of ?? width],
    );
    return native.loadWeight(name, shape, format, parts);
  });
}

async function loadGptq(native: NativeBackend, source: GptqSource): Promise<DriverGptqWeight> {
  const { name, shape, bits, groupSize, version, qweight, qzeros, scales, groupIndex } = source;
  const { id, byteLength, format, ordered } = await withNativeBytes(
    native,
    name,
    [qweight, qzeros, scales, ...(groupIndex ? [groupIndex] : [])],
    (parts) => native.loadGptq(name, shape[0], shape[1], bits, groupSize, version, parts),
  );
  return { id, byteLength, format: ordered ? orderedGptq : format };
}

/** A chain as native code reads it: native/runtime/chain.h. */
function placesOf({ output, feed, advance }: PlanChain): Float64Array {
  const growing = advance.flatMap(({ byteOffset, count }) => [byteOffset, count]);
  return Float64Array.of(output.count, output.byteOffset, feed.byteOffset, ...growing);
}

/** Native chains are short ones of one row, which look at their limit once; core does the others. */
const isShortRow = ({ output, slots, results }: PlanChain): boolean =>
  output.count === 1 && !slots && results.length <= 16;

const chainOfOneRow =
  (native: NativeBackend, id: number, { results, counts }: PlanChain) =>
  async (limits: Int32Array, stops: Int32Array): Promise<number> => {
    const most = Math.min(results.length, Math.max(1, limits[0]!));
    const done = await native.replayChain(id, most, stops);
    counts[0] = done;
    return done;
  };

function executorOf(native: NativeBackend): PlanExecutor {
  return {
    hostMemory: (byteLength) => native.hostMemory(byteLength),
    execute: async ({ words }, { inputs, outputs, control, times }) =>
      native.execute(words, inputs, outputs, control, times),
    capture({ words }, { inputs, outputs, control, times }, chain) {
      const short = chain && isShortRow(chain) ? chain : undefined;
      const id = native.capture(
        words,
        inputs,
        outputs,
        control,
        times,
        short && placesOf(short),
        short?.results,
      );
      return {
        replay: () => native.replay(id),
        ...(short && { replayChain: chainOfOneRow(native, id, short) }),
        dispose: () => native.release(id),
      };
    },
  };
}

/**
 * The native CPU driver, with its threads running and the machine measured (about 25 ms the first time).
 * Rejects with UNSUPPORTED where there is no binary for this platform or it cannot run `isa`, BAD_ARGUMENT for `threads`.
 */
export async function cpuDriver(options: CpuOptions = {}): Promise<PlanDriver> {
  const native = createNative(options);
  const profile = await native.profile().catch((error) => {
    native.dispose();
    throw error;
  });
  return {
    name: 'cpu',
    profile: { kind: 'cpu', ...profile },
    measureCeilings: () => native.ceilings(),
    freeMemory: () => native.freeMemory(),
    manifest,
    capabilities: {
      pagedKv: { blockSizes },
      quantGguf: { formats: ggufFormats },
      quantGptq: { bits: [4, 8] },
      kvQuant: { dtypes: ['bf16', 'int8'] },
      moeFused: true,
      graph: true,
      timer: true,
    },
    memory: memoryOf(native),
    loadWeight: (source) => loadWeight(native, source),
    loadGptq: (source) => loadGptq(native, source),
    freeWeight: ({ id }) => native.freeWeight(id),
    kernelRuns: () => native.kernelRuns(),
    executor: executorOf(native),
    dispose: () => native.dispose(),
  };
}
