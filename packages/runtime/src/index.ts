export { type Backend, type DeviceCeilings, type KvDtype, kvCacheBytes, kvElements } from '@quern/core';
export {
  describeModel,
  type ModelDescription,
  type ModelShape,
  type ModelShapeName,
  makeSyntheticModel,
  modelShapes,
  openModelFile,
  type RecipeName,
  recipes,
  type SyntheticOptions,
} from '@quern/models';
export * from './chat/index.js';
export { type DeviceReport, describeDevices } from './discovery/describe-devices.js';
export {
  type BackendCandidate,
  type CreateBackendOptions,
  type FindBackendsOptions,
  findBackend,
  findBackends,
  type LoadedBackend,
} from './discovery/find-backends.js';
export { RuntimeError, type RuntimeErrorCode } from './error.js';
export type {
  ChatOptions,
  EndReason,
  GenerateOptions,
  GenerationPiece,
  GenerationResult,
} from './generation/generate-options.js';
export type { Generation } from './generation/generation.js';
export { type DescribedTensor, describeFile, type FileDescription } from './inspect/describe-file.js';
export { loadModel } from './model/load-model.js';
export type { LoadOptions, LoadProgress } from './model/load-options.js';
export type { Model } from './model/model.js';
export { openTokenizer } from './model/open-tokenizer.js';
export type { Session } from './model/session.js';
export { defaultContext, type PlanRequest, planBackends } from './planner/plan-backends.js';
export { type PlannedModel, type PlannerDevice, plannerDevice } from './planner/planner-device.js';
export * from './sampling/index.js';
export type {
  SpeculateByDraft,
  SpeculateByLookup,
  SpeculateOptions,
} from './speculation/speculate-options.js';
export * from './tokenizer/index.js';
