import type { QuantKvDtype } from './capability/kv-quant.js';
import type { GptqSource } from './capability/quant-gptq.js';
import type { CollectiveOpName } from './collectives/index.js';
import type { DeviceCeilings, DeviceProfile } from './device-profile.js';
import type { DriverBuffer, DriverMemory, DriverWeight } from './driver-memory.js';
import type { DType } from './dtype.js';
import type { BackendErrorCode } from './error.js';
import type { FusedOpName } from './fusions/index.js';
import type { DriverKv } from './kv/kv-buffer.js';
import type { OptionalOpName, RequiredOpName } from './ops/fills.js';
import type { EncodedPlan } from './plan/encode.js';
import type { WeightFormat, WeightSource } from './weight.js';

/** A GPTQ matrix once loaded: `format` is one that the manifest lists for the ops that take it. */
export interface DriverGptqWeight extends DriverWeight {
  readonly format: WeightFormat;
}

/** What a driver can do for one op. */
export interface OpSupport {
  /** Element types of its tensor operands. */
  readonly dtypes: readonly DType[];
  /** Formats of its weight operands, for ops that have any. */
  readonly weightFormats?: readonly WeightFormat[];
  /** Element types of its cache buffers, for ops that have any. */
  readonly cacheDtypes?: readonly DType[];
  /**
   * Tensor operands that the kernel rounds to bf16 (to nearest, ties to even) before anything else, and the formats with which it
   * does: all matrices (weights of 2 dimensions or more) and caches that the op reads must be of one of these. Such an operand may
   * come as bf16.
   */
  readonly rounds?: Readonly<Record<string, readonly (WeightFormat | DType)[]>>;
  /** The kernel can round any of its f32 outputs to bf16 (to nearest, ties to even) and store that. Not for outputs that are kept. */
  readonly stores?: readonly ['bf16'];
}

/** One entry for each core op; those of `fills` may be left out, and core does what is said there. */
export type OfCoreOps<E> = Readonly<Record<RequiredOpName, E> & Partial<Record<OptionalOpName, E>>>;

/** All that a driver claims: op × dtype × weight format. Fused ops are optional. */
export interface Manifest {
  readonly ops: OfCoreOps<OpSupport>;
  readonly fused?: Readonly<Partial<Record<FusedOpName, OpSupport>>>;
  /** Needed for `collective`, with all of its ops. */
  readonly collective?: Readonly<Record<CollectiveOpName, OpSupport>>;
}

/** Which capabilities the driver provides, with their limits. Core turns each into an object on the Backend. */
export interface DriverCapabilities {
  /** Caches of many blocks, shared by sequences. Tokens per block at which the kernels are fast; they take every size. */
  readonly pagedKv?: { readonly blockSizes: readonly number[] };
  /**
   * `loadWeight` takes matrices in these formats as they lie in the file; vectors arrive dense. The manifest lists them for `embed`,
   * `linear` and the fused projections, too.
   */
  readonly quantGguf?: { readonly formats: readonly WeightFormat[] };
  /** The driver must have `loadGptq`, which gives a format that the manifest lists for `linear`. `GptqRows` of @quern/quant has the values. */
  readonly quantGptq?: { readonly bits: readonly (4 | 8)[] };
  /** `manifest.fused` has `moe`. Models then ask for a mixture of experts as one op; without it by `expertLinear` and `weightedSum`. */
  readonly moeFused?: boolean;
  /** Every op with caches must have these in its `cacheDtypes`: bf16 as such, int8 as i8. */
  readonly kvQuant?: { readonly dtypes: readonly QuantKvDtype[] };
  /** Captured plans can be replayed, with the same bits as a run; the executor must have `capture`. Kernel drivers get it from core. */
  readonly graph?: boolean;
  /**
   * The driver is rank `rank` of a group; its manifest claims the ops. All ranks run the same calls in the same order. When a rank is
   * disposed of, runs of the others reject with DEVICE_FAILED.
   */
  readonly collective?: { readonly worldSize: number; readonly rank: number };
  /** The executor fills `PlanIo.times`. Kernel drivers get it from core. */
  readonly timer?: boolean;
}

/** What both forms of a driver have. */
export interface DriverBase {
  /** Short and stable: 'cpu', 'reference'. What `--backend` takes. */
  readonly name: string;
  readonly profile: DeviceProfile;
  /** Measures what the device delivers at most, in a second or so. Called when nothing runs, for benchmarks only. */
  measureCeilings?(): Promise<DeviceCeilings>;
  /**
   * Bytes of device memory free now: the planner divides them among weights, cache and activations. Of the machine's own memory
   * `machineMemory().available` of core, which knows the limits of containers; `os.freemem()` does not.
   */
  freeMemory(): number;
  readonly manifest: Manifest;
  readonly capabilities?: DriverCapabilities;
  readonly memory: DriverMemory;
  /** Memory for caches in a layout of the driver's own. Absent: canonical form in `memory`. */
  readonly kv?: DriverKv;
  /**
   * Loads a parameter off the JS thread, in the layout of the driver's choice. Several loads may be under way. Rejects with BackendError
   * BAD_WEIGHT (a file that cannot be opened, a slice outside it, bytes that do not fit shape and format), UNSUPPORTED (a format that
   * the driver does not declare) or OUT_OF_MEMORY; nothing of it stays then.
   */
  loadWeight(source: WeightSource): Promise<DriverWeight>;
  /** The same for a GPTQ matrix, whose shape and lengths core has checked. Throws BAD_WEIGHT or OUT_OF_MEMORY. */
  loadGptq?(source: GptqSource): Promise<DriverGptqWeight>;
  /** Called once per weight, never while a plan runs. */
  freeWeight(weight: DriverWeight): void;
  /**
   * How often each kernel has run since the driver was made, by op name. Conformance uses it to prove that a
   * kernel the manifest claims really ran. Kernel drivers may leave it out: core counts for them.
   */
  kernelRuns?(): Readonly<Record<string, number>>;
  /** Frees buffers, weights, captured plans, threads. Called once, when nothing runs and no weight loads; nothing is freed one by one before. */
  dispose(): void;
}

/** A tensor or buffer as a kernel sees it. */
export interface KernelMemory {
  readonly kind: 'memory';
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly buffer: DriverBuffer;
  readonly byteOffset: number;
}

/** A weight as a kernel sees it. */
export interface KernelWeight {
  readonly kind: 'weight';
  readonly shape: readonly number[];
  readonly format: WeightFormat;
  readonly weight: DriverWeight;
}

/** Operands by the names of the op table; an absent optional operand is missing. */
export type KernelOperands = Readonly<Record<string, KernelMemory | KernelWeight>>;

/** Computes one op. Arguments have been checked; throws BackendError OUT_OF_RANGE for an index outside its range. */
export type Kernel = (
  operands: KernelOperands,
  attributes: Readonly<Record<string, number>>,
  outputs: readonly KernelMemory[],
) => void | Promise<void>;

/** A driver in the form of a table of kernels, called one by one: the plain TypeScript kind. */
export interface KernelDriver extends DriverBase {
  readonly kernels: OfCoreOps<Kernel> & Readonly<Partial<Record<FusedOpName | CollectiveOpName, Kernel>>>;
}

/** What a kernel can report by `PlanIo.fault`: the error's code. */
export const faultCodes = { OUT_OF_RANGE: 1, DEVICE_FAILED: 2 } as const satisfies Partial<
  Record<BackendErrorCode, number>
>;

/** Host memory of a run. A driver with its own device memory copies; one that shares the host's works in place. */
export interface PlanIo {
  /**
   * The plan's inputs, at the offsets that the plan encodes; length 0 where there are none. Bound for the life of a captured plan.
   * The driver only reads them, except for `replayChain`.
   */
  readonly inputs: ArrayBuffer;
  /** The kept tensors, likewise. Bytes outside the tensors stay as they were. */
  readonly outputs: ArrayBuffer;
  /**
   * control[0] becomes 1 when the caller aborts: look at it as often as `profile.abort` says, then reject with ABORTED. In
   * shared memory, which JavaScript cannot take away while native code looks.
   */
  readonly control: Int32Array;
  /**
   * The op that went wrong: [its index + 1 (0: none), one of `faultCodes`]. In shared memory, as `control`. A driver
   * whose kernels cannot throw writes both words and resolves: core rejects with the op's name and hands out no outputs. A driver
   * that rejects may write the first word: the op's name joins the message. Core clears the words once it has
   * read them. With several plans in flight, write them on the JS thread, just before the promise settles.
   */
  readonly fault: Int32Array;
  /** Milliseconds of device time per op, in the order of the plan, filled when present (capability timer). A replay fills them anew; of a chain the last one. */
  readonly times?: Float64Array;
}

/** Bytes `from` up to `to` of the inputs. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** i32 words that lie together in a region of PlanIo. `byteOffset` is a multiple of 4. */
export interface PlanWords {
  readonly byteOffset: number;
  readonly count: number;
}

/** Where a row of a chain writes next: slot = blockTable[s][position / blockSize] · blockSize + position % blockSize. */
export interface PlanSlots {
  /** [S] */
  readonly slots: PlanWords;
  /** [S], as they are after `advance`. */
  readonly positions: PlanWords;
  /** [S, B] */
  readonly blockTable: PlanWords;
  readonly blockSize: number;
}

/**
 * What happens between two replays of a chain of S rows. The words of `output` go to `results`. In the inputs, for each row
 * that has not ended: its output goes into `feed`, its words of `advance` grow by one (2³¹ − 1 wraps around), and its
 * slot follows from its position: OUT_OF_RANGE beyond the block table. The inputs of a row that has ended stay: it repeats its last
 * step. After the last replay the inputs stay as that replay found them.
 */
export interface PlanChain {
  /** [S], in the outputs. */
  readonly output: PlanWords;
  /** [S] */
  readonly feed: PlanWords;
  /** [S] each. */
  readonly advance: readonly PlanWords[];
  readonly slots?: PlanSlots;
  /** [most, S]: the output of every replay, in their order. Bound for the life of the captured plan. */
  readonly results: Int32Array;
  /** [S]: number of tokens of each row, the last one included. Bound likewise. */
  readonly counts: Int32Array;
}

/** A plan kept by the driver, to be run again with whatever its io then holds. */
export interface CapturedPlan {
  /**
   * `dirty`: bytes of the inputs that have been written since the last call, all of them at the first; ranges ascend and do
   * not touch. They count as taken when the call rejects, too. `control`: the word of this run; with `plansInFlight` 1 it
   * is always that of the plan's io.
   */
  replay(dirty: readonly ByteRange[], control: Int32Array): Promise<void>;
  /**
   * Replays by the plan's chain until every row has ended, and resolves to the number of replays. A row ends with the replay
   * that leaves its token among `stops`, or its count at `limits[row]` or above; with the last for which `results` has room
   * in any case. `limits` lies in shared memory: look at it after each replay, since the caller may lower one. `dirty` and
   * `control` as for `replay`; the chain's own words of io.inputs need not be brought up to date: they are in `dirty` once
   * they are written again. After an abort or an error there are no results. Optional: core replays one by one where it is absent.
   */
  replayChain?(
    limits: Int32Array,
    stops: Int32Array,
    dirty: readonly ByteRange[],
    control: Int32Array,
  ): Promise<number>;
  dispose(): void;
}

/** What host memory of a plan is for: JavaScript writes inputs and reads outputs. */
export type HostMemoryUse = 'inputs' | 'outputs';

/**
 * Runs whole plans, off the JS thread. At most `profile.plansInFlight` runs have not settled; they are computed in the order
 * of the calls. With more than one, a call takes the inputs before it returns, and `outputs` are written on the JS
 * thread just before its promise settles, each promise in an event of its own.
 */
export interface PlanExecutor {
  /**
   * Zeroed memory for the inputs or outputs of one plan: page-aligned, pinned or unified, as the device likes it. The driver owns it: a
   * plan that works on it may do so to its end whatever JavaScript does with the ArrayBuffer (transfer, structured clone, collection).
   * Optional: where it is absent, inputs and outputs are ordinary ArrayBuffers, which JavaScript can detach during a run, so a native
   * driver must copy them. Throws OUT_OF_MEMORY.
   */
  hostMemory?(byteLength: number, use: HostMemoryUse): ArrayBuffer;
  /**
   * Takes the inputs' memory back when their plan has ended, so that scarce memory need not wait for the garbage collector. Memory of
   * outputs never comes here, since arrays that callers have read lie in it: it is free once nothing refers to the ArrayBuffer.
   */
  freeHostMemory?(memory: ArrayBuffer): void;
  /** Resolves when the outputs are written. Rejects with BackendError (OUT_OF_RANGE, ABORTED, OUT_OF_MEMORY, DEVICE_FAILED). */
  execute(plan: EncodedPlan, io: PlanIo): Promise<void>;
  /**
   * `chain` where the plan will be replayed in chains; a driver without `replayChain` need not look at it. A weight or buffer of
   * the plan may be freed before the promise settles; the captured plan is then disposed of without a replay.
   */
  capture?(plan: EncodedPlan, io: PlanIo, chain?: PlanChain): CapturedPlan | Promise<CapturedPlan>;
}

/** A driver that takes whole plans: the native kind. */
export interface PlanDriver extends DriverBase {
  readonly executor: PlanExecutor;
}

export type Driver = KernelDriver | PlanDriver;
