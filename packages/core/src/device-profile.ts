/** What a backend knows of its device. Rates are measured on this machine, never looked up. */
export interface DeviceProfile {
  readonly kind: 'cpu' | 'gpu' | 'interpreter';
  /** The device's own name: 'AMD EPYC 9654', 'Apple M3'. */
  readonly name: string;
  /** The instruction set or architecture in use: 'avx512', 'sm_90'. */
  readonly isa: string;
  /** Threads the backend computes with; 1 where the notion does not apply. */
  readonly threads: number;
  /** Bytes of memory models can use, in all. */
  readonly totalMemory: number;
  /** Bytes per second of a sequential read of memory, not of caches, with all threads. */
  readonly readBandwidth: number;
  /** f32 multiply-adds ×2 per second with all threads. */
  readonly flops: number;
  /**
   * Multiply-adds ×2 per second with all threads in products of one row with weights in 4-bit blocks (q4_k) that lie in a cache:
   * what bounds a decoded token where `readBandwidth` does not. Absent: `flops`.
   */
  readonly rowFlops?: number;
  /**
   * Most rows of a step that each get the bits that they would get alone, in every op: so many can check drafted tokens without
   * changing the text. A whole number of 1 or more; Infinity: a row's bits never depend on those beside it. Absent: 1, nothing is
   * promised.
   */
  readonly exactRows?: number;
  /** Plans that the driver takes before the first of them has ended; absent: 1. Kernel drivers have 1. */
  readonly plansInFlight?: number;
  /**
   * Where a run that has begun ends when its signal aborts: before the next op (absent: so), before the next segment of a few
   * hundred ops, or not at all: at the next step of a chain, or before the plan begins.
   */
  readonly abort?: 'op' | 'segment' | 'step';
  /**
   * Who places the temporaries of a plan. 'core', the default: core does, in one arena in the order of the plan. 'driver': each has an
   * offset of its own in a virtual arena, and the driver places them by `EncodedPlan.lifetimes`. Only drivers that take whole plans.
   */
  readonly placing?: 'core' | 'driver';
  /** Measured rates of copies. */
  readonly links?: DeviceLinks;
  /** The device computes in the host's memory: devices that do share what is free. Absent: so where `links` is absent. */
  readonly sharesHostMemory?: boolean;
}

/** Bytes per second between the host's memory and a device's own. */
export interface DeviceLinks {
  readonly hostToDevice: number;
  readonly deviceToHost: number;
}

/** One of the devices that a backend package finds on a machine: its `devices()` lists them before any backend is made. */
export interface DeviceDescription {
  /** What `createBackend` takes as `device`, and the name of the backend ends with: 1 of 'cuda:1'. */
  readonly index: number;
  /** The device's own name: 'NVIDIA H200'. */
  readonly name: string;
  /** Bytes, in all. */
  readonly totalMemory: number;
}

/** The most that a device delivers, measured by loops that do nothing else: what the speed of a model is held against. */
export interface DeviceCeilings {
  /** Bytes per second of sequential reads of memory, all threads together. */
  readonly readBandwidth: number;
  /** And of one thread alone. */
  readonly readBandwidthOneThread: number;
  /**
   * Operations per second by element type, all threads together; a multiply-add counts two. 'f32' is always there; 'bf16'
   * and 'int8' where the device multiplies them, with a suffix for units of their own ('int8-tiles': AMX).
   */
  readonly rates: Readonly<Record<string, number>>;
}
