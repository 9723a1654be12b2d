import './symbol-dispose.js';

export * from './attention-config.js';
export * from './backend.js';
export * from './backend-plan.js';
export * from './capability/collective.js';
export * from './capability/graph.js';
export * from './capability/index.js';
export * from './capability/kv-quant.js';
export * from './capability/moe-fused.js';
export * from './capability/paged-kv.js';
export * from './capability/quant-gguf.js';
export * from './capability/quant-gptq.js';
export * from './capability/timer.js';
export * from './capability/with.js';
export { type CollectiveOpName, collectiveOps, type Reduction, reductions } from './collectives/index.js';
export * from './contract.js';
export * from './cooperative.js';
export * from './define-backend.js';
export * from './device-profile.js';
export * from './driver.js';
export * from './driver-memory.js';
export * from './dtype.js';
export * from './e4m3.js';
export * from './error.js';
export { TimeSlice, yieldToEventLoop } from './event-loop.js';
export { lowRankOperands } from './fusions/add-low-rank.js';
export { type FusedOpName, fusedOps } from './fusions/index.js';
export { moeInputs, moeOperands } from './fusions/moe.js';
export { fills, type Ops, type OptionalOpName, type RequiredOpName } from './generated/ops.js';
export * from './half.js';
export { hostLinks } from './host-links.js';
export { elements, type HostBuffer, hostMemory } from './host-memory.js';
export * from './kv/batch.js';
export { BlockPool } from './kv/block-pool.js';
export * from './kv/cache-row.js';
export { type DriverKv, type KvBuffer, type KvSpec, kvOf, kvShape } from './kv/kv-buffer.js';
export * from './kv/kv-cache.js';
export { KvSequence } from './kv/kv-sequence.js';
export {
  type LayerState,
  type LayerStates,
  layerStateOf,
  type StatePart,
  stateBytes,
} from './kv/layer-state.js';
export * from './machine-memory.js';
export { makeFolder } from './make-folder.js';
export { onAbort } from './on-abort.js';
export type { AnyOp, Attributes, Op, OperandRule, OperandSpec, Tolerance } from './op/define-op.js';
export type { Numbers } from './op/numbers.js';
export { type CastTarget, castTargets } from './ops/cast.js';
export { type GeluForm, geluForms } from './ops/gelu.js';
export { type CoreOpName, coreOps } from './ops/index.js';
export type { LinearOptions } from './ops/linear.js';
export { type Pooling, poolings } from './ops/pool.js';
export { type RouteOptions, routeOperands } from './ops/route.js';
export * from './options/index.js';
export * from './plan/encode.js';
export type { Filled } from './plan/fill.js';
export * from './precision.js';
export type { Phase, Progress, ProgressListener } from './progress.js';
export * from './read-weight.js';
export * from './record-op.js';
export * from './registered-backends.js';
export * from './rope-frequencies.js';
export { RunQueue } from './run-queue.js';
export * from './step.js';
export type { OperandValue } from './step-tensor.js';
export { type BatchRows, batchInputs, inputBatch, writeBatch } from './steps/batch-inputs.js';
export { RepeatedStep } from './steps/repeated-step.js';
export { StepCache, type StepCacheOptions, type StepKey } from './steps/step-cache.js';
export type { InputOf, RecordedPart, StepArrays, StepPart, StepRecipe } from './steps/step-recipe.js';
export { fileReason, systemReason } from './system-reason.js';
export * from './tensor.js';
export type { ErrorSample, Sample, SampleOperand, SampleOperands } from './testing/samples.js';
export * from './weight.js';
export { checkParts, inParts, type RowBytes, rowBytesOf, rowsOf } from './weight-parts.js';
