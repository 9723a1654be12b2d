import type { Precision } from './precision.js';

/** Properties of a device. Rates are measured on this machine, unless `estimated` says otherwise. */
export interface DeviceProfile {
  readonly kind: 'cpu' | 'gpu' | 'interpreter';
  /** The device's own name: 'AMD EPYC 9654', 'Apple M3'. */
  readonly name: string;
  /** The instruction set or architecture in use: 'avx512', 'sm_90'. */
  readonly isa: string;
  /** Version of the software that drives the device: 'CUDA 13.0'. Absent: the backend itself drives it. */
  readonly driver?: string;
  /** The rates are low estimates from the device's clocks and widths: nothing was measured yet. Absent: false. */
  readonly estimated?: boolean;
  /** Compute threads; 1 if the device has none. A GPU: its multiprocessors. */
  readonly threads: number;
  /** Total bytes of memory for models. */
  readonly totalMemory: number;
  /** Bytes per second of a sequential read of memory, not of caches, with all threads. */
  readonly readBandwidth: number;
  /** f32 operations per second with all threads; a multiply-add counts two. */
  readonly flops: number;
  /**
   * f32 operations per second with all threads in products of one row with weights in 4-bit blocks (q4_k) in a cache; a
   * multiply-add counts two. Bounds a decoded token unless `readBandwidth` does. Absent: `flops`.
   */
  readonly rowFlops?: number;
  /**
   * As `rowFlops`, with many rows (64): the rate of a prompt with weights in blocks, at the backend's `precision`. Weights
   * of 16 and 32 bits are planned with `flops`. Absent: `flops`.
   */
  readonly promptFlops?: number;
  /** How the backend rounds. Absent: the backend has one way, which it does not name. */
  readonly precision?: Precision;
  /**
   * Maximum rows T of a step such that every op gives each row the same bits as alone. Up to T drafted tokens can then
   * be verified without a change of the text. Whole number ≥ 1; Infinity: a row's bits never depend on the other rows.
   * Absent: 1, no promise.
   */
  readonly exactRows?: number;
  /** Maximum plans in flight: accepted before the first has ended. Absent: 1. Kernel drivers have 1. */
  readonly plansInFlight?: number;
  /**
   * When a running plan stops after its signal aborts. 'op' (default): before the next op. 'segment': before the next
   * segment of a few hundred ops. 'step': the plan runs to its end; a chain stops before its next step.
   */
  readonly abort?: 'op' | 'segment' | 'step';
  /**
   * Who places the temporaries of a plan. 'core' (default): core, in one arena in plan order. 'driver': each temporary
   * has its own offset in a virtual arena, and the driver places them by `EncodedPlan.lifetimes`. Only for drivers that
   * take whole plans.
   */
  readonly placing?: 'core' | 'driver';
  /** Rates of copies. */
  readonly links?: DeviceLinks;
  /** The device computes in host memory. Devices with true share the free memory. Absent: true if `links` is absent. */
  readonly sharesHostMemory?: boolean;
}

/** Bytes per second between host memory and device memory. */
export interface DeviceLinks {
  readonly hostToDevice: number;
  readonly deviceToHost: number;
}

/** A device of the machine. `devices()` of a backend package lists them before any backend is made. */
export interface DeviceDescription {
  /** The `device` option of `createBackend`, and the suffix of the backend's name: 1 in 'cuda:1'. */
  readonly index: number;
  /** The device's own name: 'NVIDIA H200'. */
  readonly name: string;
  /** Total bytes. */
  readonly totalMemory: number;
  /** As in `DeviceProfile`. */
  readonly isa?: string;
  /** As in `DeviceProfile`. */
  readonly driver?: string;
  /** Why the backend cannot use the device: then none is made. Absent: the device can be used. */
  readonly unusable?: string;
}

/** Options of `measureCeilings`. */
export interface MeasureOptions {
  /** Measures, even if rates from earlier are kept. Default false. */
  readonly again?: boolean | undefined;
}

/**
 * Peak rates of a device, measured by loops that do nothing else, now or earlier on this machine. The speed of a model is compared
 * with them.
 */
export interface DeviceCeilings {
  /** Bytes per second of sequential reads of memory, all threads together. */
  readonly readBandwidth: number;
  /** Bytes per second of one thread alone. Absent: the device has no threads to measure (a GPU). */
  readonly readBandwidthOneThread?: number;
  /**
   * Operations per second by element type, all threads together; a multiply-add counts two. 'f32' is always present.
   * 'bf16' and 'int8' are present if the device multiplies them, with a suffix for special units ('int8-tiles': AMX).
   */
  readonly rates: Readonly<Record<string, number>>;
  /** As in `DeviceProfile`. */
  readonly estimated?: boolean;
}
