import {
  type ByteRange,
  type DeviceProfile,
  type DriverBuffer,
  type DriverCapabilities,
  type DriverGptqWeight,
  type DriverMemory,
  type DriverWeight,
  type GptqSource,
  inParts,
  type Manifest,
  type PlanChain,
  type PlanDriver,
  type PlanExecutor,
  rowsOf,
  type WeightSource,
} from '@quern/core';
import { type Addon, makeError, type NativeBackend, type NativeOptions, type NativePart } from './addon.js';
import { measureRates, measureWhenIdle } from './measure-rates.js';
import { withNativeBytes } from './native-bytes.js';

/** Properties of a native driver in TypeScript; its device has the rest. */
export interface NativeDriverSpec {
  /** Short and stable: the value of `--backend`. */
  readonly name: string;
  readonly kind: DeviceProfile['kind'];
  /** Profile fields known in TypeScript; the device adds the rest. */
  readonly profile?: Partial<DeviceProfile>;
  readonly manifest: Manifest;
  readonly capabilities?: DriverCapabilities;
  /** For `make_device`. */
  readonly options?: NativeOptions;
  /**
   * Whether the device measures its ceilings (Device::ceilings). 'child': a child process does, with a device of the same
   * options, and keeps the rates.
   */
  readonly ceilings?: boolean | 'child';
}

function memoryOf(native: NativeBackend): DriverMemory<DriverBuffer> {
  return {
    allocate: (byteLength) => ({ id: native.allocate(byteLength) }),
    free: ({ id }) => native.free(id),
    async write({ id }, byteOffset, bytes) {
      await native.write(id, byteOffset, bytes);
    },
    async read({ id }, byteOffset, bytes) {
      await native.read(id, byteOffset, bytes);
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

function loadGptq(native: NativeBackend, source: GptqSource): Promise<DriverGptqWeight> {
  const { name, shape, bits, groupSize, version, qweight, qzeros, scales, groupIndex } = source;
  const pieces = [qweight, qzeros, scales, ...(groupIndex ? [groupIndex] : [])];
  return withNativeBytes(native, name, pieces, (parts) =>
    native.loadGptq(name, shape[0], shape[1], bits, groupSize, version, parts),
  );
}

/** A chain in the layout of native/quern/chain.h. */
function placesOf({ output, feed, advance, slots }: PlanChain): Float64Array {
  const places = [output.count, output.byteOffset, feed.byteOffset, advance.length];
  places.push(...advance.map(({ byteOffset }) => byteOffset));
  if (slots)
    places.push(
      slots.blockTable.count / output.count,
      slots.blockSize,
      slots.slots.byteOffset,
      slots.positions.byteOffset,
      slots.blockTable.byteOffset,
    );
  return Float64Array.from(places);
}

const flat = (ranges: readonly ByteRange[]) =>
  Float64Array.from(ranges.flatMap(({ from, to }) => [from, to]));

/** A device that reads the inputs in place needs no dirty ranges. */
function executorOf(native: NativeBackend): PlanExecutor {
  const inPlace = native.hasUnifiedMemory();
  const written = (dirty: readonly ByteRange[]) => (inPlace ? undefined : flat(dirty));
  return {
    hostMemory: (byteLength) => native.hostMemory(byteLength),
    execute: async ({ words }, { inputs, outputs, control, fault, times }) =>
      native.execute(words, inputs, outputs, control, fault, times),
    async capture({ words }, { inputs, outputs, control, fault, times }, chain) {
      const places = chain && placesOf(chain);
      const id = await native.capture(
        words,
        inputs,
        outputs,
        control,
        fault,
        times,
        places,
        chain?.results,
        chain?.counts,
      );
      return {
        replay: (dirty) => native.replay(id, written(dirty)),
        replayChain: (limits, stops, dirty, _control, onReplays) =>
          native.replayChain(id, limits, stops, written(dirty), onReplays),
        dispose: () => native.release(id),
      };
    },
  };
}

/**
 * The driver of a native addon: makes its device and reads the profile. Rejects as `make_device` and the device's
 * `profile`.
 */
export async function nativeDriver(addon: Addon, spec: NativeDriverSpec): Promise<PlanDriver> {
  const { name, kind, manifest, capabilities = {}, options = {}, ceilings } = spec;
  const native = new addon.NativeBackend(options, makeError);
  const profile = await native.profile().catch((error) => {
    native.dispose();
    throw error;
  });
  const inChild = ceilings === 'child' && options.rates !== 'table';
  const stopMeasuring = inChild && profile.estimated ? measureWhenIdle(addon, native, options) : undefined;
  const measureCeilings = async ({ again = false } = {}) => {
    if (!inChild || !(again || profile.estimated)) return native.ceilings();
    return (await measureRates(addon, options)) ?? native.ceilings();
  };
  return {
    name,
    contract: 2, // of the addon's sources and this module together
    profile: { kind, ...spec.profile, ...profile },
    ...(ceilings && { measureCeilings }),
    freeMemory: () => native.freeMemory(),
    manifest,
    capabilities: { graph: true, timer: true, ...capabilities },
    memory: memoryOf(native),
    loadWeight: (source) => loadWeight(native, source),
    ...(capabilities.quantGptq && { loadGptq: (source: GptqSource) => loadGptq(native, source) }),
    freeWeight: ({ id }) => native.freeWeight(id),
    kernelRuns: () => native.kernelRuns(),
    executor: executorOf(native),
    dispose: () => {
      stopMeasuring?.();
      native.dispose();
    },
  };
}
