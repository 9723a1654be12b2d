import type { QuantKvDtype } from './capability/kv-quant.js';
import type { GptqSource } from './capability/quant-gptq.js';
import type { CollectiveOpName } from './collectives/index.js';
import type { DeviceCeilings, DeviceProfile, MeasureOptions } from './device-profile.js';
import type { DriverBuffer, DriverMemory, DriverWeight } from './driver-memory.js';
import type { DType } from './dtype.js';
import type { BackendErrorCode } from './error.js';
import type { FusedOpName } from './fusions/index.js';
import type { OptionalOpName, RequiredOpName } from './generated/ops.js';
import type { DriverKv } from './kv/kv-buffer.js';
import type { EncodedPlan } from './plan/encode.js';
import type { WeightFormat, WeightSource } from './weight.js';

/** A loaded GPTQ matrix. The manifest lists `format` for the ops that take it. */
export interface DriverGptqWeight extends DriverWeight {
  readonly format: WeightFormat;
}

/** Support of a driver for one op. */
export interface OpSupport {
  /** Element types of its tensor operands. */
  readonly dtypes: readonly DType[];
  /** Formats of the weight operands, for ops with weights. */
  readonly weightFormats?: readonly WeightFormat[];
  /** Element types of the cache buffers, for ops with caches. */
  readonly cacheDtypes?: readonly DType[];
  /**
   * Tensor operands that the kernel first rounds to bf16 (to nearest, ties to even), each with a list of formats: the
   * kernel rounds if all matrices (weights of 2 or more dimensions) and caches of the op have a listed format. Such an
   * operand may arrive as bf16.
   */
  readonly rounds?: Readonly<Record<string, readonly (WeightFormat | DType)[]>>;
  /** Optional operands that joined the op later and that the kernel takes: `sinks` of `attention`. */
  readonly takes?: readonly string[];
  /** The kernel can round each f32 output to bf16 (to nearest, ties to even) and store it. Not for kept outputs. */
  readonly stores?: readonly ['bf16'];
}

/** One entry per core op. Ops of `fills` are optional: core fills a missing op as `fills` says. */
export type OfCoreOps<E> = Readonly<Record<RequiredOpName, E> & Partial<Record<OptionalOpName, E>>>;

/** All claims of a driver: op × dtype × weight format. Fused ops are optional. */
export interface Manifest {
  readonly ops: OfCoreOps<OpSupport>;
  readonly fused?: Readonly<Partial<Record<FusedOpName, OpSupport>>>;
  /** Required with `collective`: all collective ops. */
  readonly collective?: Readonly<Record<CollectiveOpName, OpSupport>>;
}

/** Capabilities of the driver, with their limits. Core makes an object on the Backend from each. */
export interface DriverCapabilities {
  /** Caches of many blocks, shared by sequences. `blockSizes`: tokens per block with fast kernels; all sizes must work. */
  readonly pagedKv?: { readonly blockSizes: readonly number[] };
  /**
   * `loadWeight` takes matrices in these formats, with the bytes of the file; vectors arrive dense. Requires the formats
   * in the manifest for `embed`, `linear` and the fused projections.
   */
  readonly quantGguf?: { readonly formats: readonly WeightFormat[] };
  /** Requires `loadGptq`; its formats must be in the manifest for `linear`. `GptqRows` of @quern/quant gives the values. */
  readonly quantGptq?: { readonly bits: readonly (4 | 8)[] };
  /** Requires `moe` in `manifest.fused`. Models record it as one op; without it they use `expertLinear` and `weightedSum`. */
  readonly moeFused?: boolean;
  /** Every op with caches must list these in `cacheDtypes`: bf16 as bf16, int8 as i8, fp8 as u8. */
  readonly kvQuant?: { readonly dtypes: readonly QuantKvDtype[] };
  /** Replay of captured plans, with the bits of a run. Requires `capture` of the executor; core provides it for kernel drivers. */
  readonly graph?: boolean;
  /**
   * The driver is rank `rank` of a group. Requires the collective ops in the manifest. All ranks run the same calls in
   * the same order. After one rank is disposed, runs of the others reject with DEVICE_FAILED.
   */
  readonly collective?: { readonly worldSize: number; readonly rank: number };
  /** The executor fills `PlanIo.times`. Core provides it for kernel drivers. */
  readonly timer?: boolean;
}

/** Common part of both forms of a driver. */
export interface DriverBase {
  /** Short and stable: 'cpu', 'reference'. The value of `--backend`. */
  readonly name: string;
  /**
   * The version of the contract that the driver was written for: `contractVersion` of @quern/core on that day, as a
   * number (`contract: 2`), not as the imported constant, which is always that of the installed core. Absent: 2.
   */
  readonly contract?: number;
  readonly profile: DeviceProfile;
  /**
   * Measures the peak rates of the device, in about a second, or takes those from earlier. Called only when somebody asks,
   * when nothing runs.
   */
  measureCeilings?(options?: MeasureOptions): Promise<DeviceCeilings>;
  /**
   * Bytes of device memory free now. The planner divides them among weights, cache and activations. For host memory use
   * `machineMemory().available` of core: it respects container limits, unlike `os.freemem()`.
   */
  freeMemory(): number;
  readonly manifest: Manifest;
  readonly capabilities?: DriverCapabilities;
  readonly memory: DriverMemory;
  /** Cache memory in a layout of the driver's own. Absent: canonical form in `memory`. */
  readonly kv?: DriverKv;
  /**
   * Loads a parameter off the JS thread, in a layout of the driver's choice. Several loads may be under way. Rejects with
   * BackendError BAD_WEIGHT (unreadable file, slice outside the file, bytes that do not fit shape and format),
   * UNSUPPORTED (undeclared format) or OUT_OF_MEMORY, and frees everything then.
   */
  loadWeight(source: WeightSource): Promise<DriverWeight>;
  /** Loads a GPTQ matrix. Core has checked shape and lengths. Throws BAD_WEIGHT or OUT_OF_MEMORY. */
  loadGptq?(source: GptqSource): Promise<DriverGptqWeight>;
  /** Called once per weight, never while a plan runs. */
  freeWeight(weight: DriverWeight): void;
  /**
   * Number of runs of each kernel since the driver was made, by op name: the proof of conformance that a claimed kernel
   * really ran. Optional for kernel drivers: core counts for them.
   */
  kernelRuns?(): Readonly<Record<string, number>>;
  /**
   * Frees buffers, weights, captured plans, threads. Called once, when nothing runs or loads. Core does not free them one
   * by one before.
   */
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

/** Operands by the names of the op table. An absent optional operand has no entry. */
export type KernelOperands = Readonly<Record<string, KernelMemory | KernelWeight>>;

/** Computes one op. Core has checked the arguments. Throws BackendError OUT_OF_RANGE for an index outside its range. */
export type Kernel = (
  operands: KernelOperands,
  attributes: Readonly<Record<string, number>>,
  outputs: readonly KernelMemory[],
) => void | Promise<void>;

/** A driver as a table of kernels, called one by one: the plain TypeScript form. */
export interface KernelDriver extends DriverBase {
  readonly kernels: OfCoreOps<Kernel> & Readonly<Partial<Record<FusedOpName | CollectiveOpName, Kernel>>>;
}

/** Codes that a kernel can report in `PlanIo.fault`, by error code. */
export const faultCodes = { OUT_OF_RANGE: 1, DEVICE_FAILED: 2 } as const satisfies Partial<
  Record<BackendErrorCode, number>
>;

/** Host memory of a run. A driver with device memory copies it; a driver that shares host memory works in place. */
export interface PlanIo {
  /**
   * Inputs of the plan, at the offsets encoded in the plan; length 0 without inputs. A captured plan keeps this buffer
   * for its whole life. The driver only reads it, except in `replayChain`.
   */
  readonly inputs: ArrayBuffer;
  /** Kept tensors, likewise. Bytes outside the tensors must not change. */
  readonly outputs: ArrayBuffer;
  /**
   * control[0] becomes 1 when the caller aborts. Check it as often as `profile.abort` says, then reject with ABORTED.
   * Shared memory: JavaScript cannot detach it while native code reads.
   */
  readonly control: Int32Array;
  /**
   * The op that failed: [op index + 1 (0: none), one of `faultCodes`]. Shared memory, like `control`. A driver whose
   * kernels cannot throw writes both words and resolves; core then rejects with the op's name and gives out no outputs.
   * A driver that rejects may write the first word; core then adds the op's name to the message. Core clears both words
   * after reading. With several plans in flight, write them on the JS thread, just before the promise settles.
   */
  readonly fault: Int32Array;
  /**
   * Milliseconds of device time per op, in plan order. Fill it if present (capability timer). A replay fills it again; a
   * chain leaves the times of its last replay.
   */
  readonly times?: Float64Array;
}

/** Bytes [from, to) of the inputs. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Consecutive i32 words in a region of PlanIo. `byteOffset` is a multiple of 4. */
export interface PlanWords {
  readonly byteOffset: number;
  readonly count: number;
}

/** Next cache slot of a chain row: slot = blockTable[s][position / blockSize] · blockSize + position % blockSize. */
export interface PlanSlots {
  /** [S] */
  readonly slots: PlanWords;
  /** [S], after the update of `advance`. */
  readonly positions: PlanWords;
  /** [S, B] */
  readonly blockTable: PlanWords;
  readonly blockSize: number;
}

/**
 * The update between two replays of a chain of S rows. First copy the words of `output` to `results`. Then, in the
 * inputs of each row that has not ended: copy its output to `feed`, add 1 to its words of `advance` (2³¹ − 1 wraps
 * around), compute its slot from its position (OUT_OF_RANGE beyond the block table). Leave the inputs of ended rows
 * unchanged: an ended row repeats its last step. After the last replay leave all inputs unchanged.
 */
export interface PlanChain {
  /** [S], in the outputs. */
  readonly output: PlanWords;
  /** [S] */
  readonly feed: PlanWords;
  /** [S] each. */
  readonly advance: readonly PlanWords[];
  readonly slots?: PlanSlots;
  /** [most, S]: the output of every replay, in order. A captured plan keeps this buffer for its whole life. */
  readonly results: Int32Array;
  /** [S]: number of tokens of each row, the last one included. Kept likewise. */
  readonly counts: Int32Array;
}

/** A plan that the driver keeps and runs many times, each time with the present contents of its io. */
export interface CapturedPlan {
  /**
   * `dirty`: input bytes written since the last call (all bytes at the first call); ranges ascend and do not touch. The
   * bytes count as taken even if the call rejects. `control`: control word of this run. With `plansInFlight` 1 it is
   * always the control word of the plan's io.
   */
  replay(dirty: readonly ByteRange[], control: Int32Array): Promise<void>;
  /**
   * Replays by the plan's chain until every row has ended. Resolves to the number of replays. A row ends after a replay
   * if its token is in `stops`, if its count is ≥ `limits[row]`, or if `results` is full. `limits` is shared memory:
   * read it after each replay, because the caller may lower a limit. `dirty` and `control` as for `replay`. The driver
   * need not update the chain's own words in io.inputs: core marks them `dirty` when it writes them again. After an
   * abort or an error there are no results. Optional: without it core replays one by one.
   *
   * `onReplays`: given if the caller listens to the tokens. After a replay, on the JS thread: write the results of the
   * first `done` replays and the rows' `counts` (those of later replays will do), then call it. The call returns soon and
   * never throws. Leave out any call: `done` may jump, and core itself takes the rest when the promise resolves. Wake
   * JavaScript at most once per replay, never let a replay wait for it, and do nothing of this without `onReplays`. With
   * `plansInFlight` > 1, each call in an event of its own, as the promises.
   */
  replayChain?(
    limits: Int32Array,
    stops: Int32Array,
    dirty: readonly ByteRange[],
    control: Int32Array,
    onReplays?: (done: number) => void,
  ): Promise<number>;
  dispose(): void;
}

/** What host memory of a plan is for: JavaScript writes inputs and reads outputs. */
export type HostMemoryUse = 'inputs' | 'outputs';

/**
 * Runs whole plans, off the JS thread. At most `profile.plansInFlight` runs are unsettled at a time. Runs are computed
 * in call order. With plansInFlight > 1, a call takes the inputs before it returns, and writes `outputs` on the JS
 * thread just before its promise settles, each promise in its own event.
 */
export interface PlanExecutor {
  /**
   * Zeroed memory for the inputs or outputs of one plan: page-aligned, pinned or unified, as the device prefers. The
   * driver owns it: a running plan may use it to its end whatever JavaScript does to the ArrayBuffer (transfer,
   * structured clone, collection). Optional: without it, inputs and outputs are ordinary ArrayBuffers. JavaScript can
   * detach them during a run, so a native driver must copy them. Throws OUT_OF_MEMORY.
   */
  hostMemory?(byteLength: number, use: HostMemoryUse): ArrayBuffer;
  /**
   * Takes back the inputs' memory when the plan has ended, so that scarce memory need not wait for the garbage
   * collector. Never called for outputs, because arrays of callers lie in that memory: it is free once nothing refers
   * to the ArrayBuffer.
   */
  freeHostMemory?(memory: ArrayBuffer): void;
  /**
   * Resolves after the outputs are written. Rejects with BackendError OUT_OF_RANGE, ABORTED, OUT_OF_MEMORY,
   * DEVICE_FAILED.
   */
  execute(plan: EncodedPlan, io: PlanIo): Promise<void>;
  /**
   * `chain`: given if the plan will replay in chains. A driver without `replayChain` may ignore it. A weight or buffer
   * of the plan may be freed before the promise settles; core then disposes the captured plan without a replay.
   */
  capture?(plan: EncodedPlan, io: PlanIo, chain?: PlanChain): CapturedPlan | Promise<CapturedPlan>;
}

/** A driver that takes whole plans: the native form. */
export interface PlanDriver extends DriverBase {
  readonly executor: PlanExecutor;
}

export type Driver = KernelDriver | PlanDriver;
