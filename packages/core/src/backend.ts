import type { Capabilities } from './capability/index.js';
import type { DeviceCeilings, DeviceProfile, MeasureOptions } from './device-profile.js';
import type { Ops } from './generated/ops.js';
import type { KvBuffer, KvSpec } from './kv/kv-buffer.js';
import type { Filled } from './plan/fill.js';
import type { Step } from './step.js';
import type { Weight, WeightSource } from './weight.js';

/** The interface for models. `defineBackend` makes it from a driver. */
export interface Backend extends Ops, Partial<Capabilities> {
  /** Contract version: `contractVersion` of the @quern/core that made this backend. */
  readonly contract: number;
  readonly name: string;
  readonly profile: DeviceProfile;
  /** Ops missing in the driver, and how core computes each: in JavaScript on the host, or as older ops. */
  readonly filled: Filled;
  /**
   * Measures the limits of the device, in about a second, between two steps, or takes those from earlier. Absent: the driver
   * cannot.
   */
  measureCeilings?(options?: MeasureOptions): Promise<DeviceCeilings>;
  /** Bytes of device memory free now. */
  freeMemory(): number;
  /** true: made by `rehearse`. It records steps and measures their memory; weights have no bytes; nothing runs. */
  readonly rehearsal?: true;
  /** Opens a step. */
  step(): Step;
  /** Zeroed memory for keys or values of one layer, in the driver's layout. Throws OUT_OF_MEMORY, BAD_ARGUMENT. */
  kvBuffer(spec: KvSpec): KvBuffer;
  /** Loads a parameter off the JS thread. Throws UNSUPPORTED, BAD_WEIGHT, OUT_OF_MEMORY. */
  loadWeight(source: WeightSource): Promise<Weight>;
  /** How often each kernel has run, by op name: the proof that a fused kernel was used. */
  kernelRuns(): Readonly<Record<string, number>>;
  readonly disposed: boolean;
  /**
   * Refuses new work at once. Frees everything after the running work ends, weights and buffers included. Disposing
   * twice is harmless.
   */
  dispose(): void;
  [Symbol.dispose](): void;
}
