export {
  type AnySchema,
  type Backend,
  BackendError,
  type BackendErrorCode,
  type BackendPlan,
  type DeviceCeilings,
  type DeviceDescription,
  type DeviceLinks,
  type DeviceProfile,
  type KvDtype,
  kvCacheBytes,
  kvElements,
  type Option,
  type Phase,
  type Precision,
  type Progress,
  type ProgressListener,
  precisions,
  QuernError,
} from '@quern/core';
export { JsonNumber, parseJson, stringifyJson } from '@quern/grammar';
export {
  describeModel,
  type EncoderShape,
  type EncoderShapeName,
  encoderShapes,
  exampleModels,
  type KnownArchitecture,
  knownArchitectures,
  type ModelDescription,
  ModelError,
  type ModelErrorCode,
  type ModelShape,
  type ModelShapeName,
  makeSyntheticEncoder,
  makeSyntheticModel,
  makeSyntheticSpeechModel,
  modelShapes,
  type SpeechShapeName,
  type SyntheticEncoderOptions,
  type SyntheticFormat,
  type SyntheticOptions,
  type SyntheticSpeechOptions,
  speechShapes,
  syntheticFormats,
} from '@quern/models';
export {
  FileError,
  type FileErrorCode,
  FormatError,
  type FormatErrorCode,
  type ImportanceMatrix,
  isMixName,
  type MixName,
  mixes,
  QuantizeError,
  type QuantizeErrorCode,
  readImportance,
  readRegularFile,
  type TensorReport,
} from '@quern/quant';
export { AudioError, type AudioErrorCode } from './audio/error.js';
export type { AudioInput } from './audio/read-samples.js';
export {
  type AnswerCall,
  type AnswerEvent,
  AnswerParser,
  type AnswerParserOptions,
  type AnswerTool,
  type CallFormat,
  callFormats,
} from './chat/answer/index.js';
export * from './chat/index.js';
export { type QuernField, type QuernPackage, quernPackages } from './discovery/application.js';
export { type ArchitectureReport, loadArchitectures } from './discovery/architectures.js';
export {
  type DescribeDevicesOptions,
  type DeviceReport,
  describeDevices,
} from './discovery/describe-devices.js';
export {
  type FindAllOptions,
  type FindBackendsOptions,
  findBackend,
  findBackends,
} from './discovery/find-backends.js';
export type {
  BackendCandidate,
  CreateBackendOptions,
  FailedBackend,
  LoadedBackend,
} from './discovery/load-backend.js';
export type { EmbedInput } from './embedding/compute-texts.js';
export {
  type EmbeddedText,
  Embedder,
  type EmbedOptions,
  type RankedText,
  type Ranking,
  type TextsOptions,
} from './embedding/embedder.js';
export { Embeddings } from './embedding/embeddings.js';
export { type EmbedderOptions, loadEmbedder } from './embedding/load-embedder.js';
export { TextTooLongError } from './embedding/text-too-long.js';
export type { EngineStats, PromptCounts } from './engine/engine.js';
export type { TokenLogprob, TokenLogprobs } from './engine/sampling/logprobs.js';
export { SamplingError, type SamplingErrorCode, type SamplingOptions } from './engine/sampling/options.js';
export { Sampler } from './engine/sampling/sampler.js';
export { RuntimeError, type RuntimeErrorCode } from './error.js';
export { type Perplexity, type PerplexityOptions, perplexity } from './evaluation/perplexity.js';
export type { CallPiece, CallResult, ChatCall, ChatPiece, ChatResult } from './generation/chat-result.js';
export type {
  ChatOptions,
  EndReason,
  GenerateOptions,
  GenerationPiece,
  GenerationResult,
} from './generation/generate-options.js';
export { ChatGeneration, Generation } from './generation/generation.js';
export type { CallOutcome } from './generation/run-tools.js';
export { type ToolArguments, type ToolDefinition, tool } from './generation/tool.js';
export type {
  ChatTool,
  ChatTools,
  ToolChoice,
  ToolContext,
  ToolDescription,
  ToolOptions,
  UnnamedTool,
} from './generation/tool-options.js';
export {
  type DescribedModel,
  type DescribedTensor,
  describeFile,
  type FileDescription,
} from './inspect/describe-file.js';
export { type LoadPlan, planLoad } from './inspect/plan-load.js';
export type { AdapterChoice, AdapterChoices, LoadedAdapter } from './model/adapters.js';
export type { InfillFile, InfillOptions } from './model/infill-prompt.js';
export { loadModel } from './model/load-model.js';
export type { BackendChoice, LoadOptions } from './model/load-options.js';
export type { LoadedFile } from './model/loaded-file.js';
export type { ModelLocator } from './model/locate-model.js';
export type { LogitsOptions } from './model/logits-options.js';
export { Model } from './model/model.js';
export { type ModelKind, modelKind } from './model/open-any-model.js';
export { type OpenOptions, openModelFile } from './model/open-file.js';
export { openTokenizer } from './model/open-tokenizer.js';
export { planModel } from './model/plan-model.js';
export { Session } from './model/session.js';
export type { SignalOptions } from './model/signal-options.js';
export { optionSchemas } from './options/option-schemas.js';
export { planBackends } from './planner/plan-backends.js';
export type { PlanRequest } from './planner/plan-request.js';
export { type PlannedModel, type PlannerDevice, plannerDevice } from './planner/planner-device.js';
export { type QuantizeModelOptions, quantizeModel } from './quantize/quantize-model.js';
export type {
  SpeculateByDraft,
  SpeculateByLookup,
  SpeculateOptions,
} from './speculation/speculate-options.js';
export type { ComputedWindow } from './speech/compute-window.js';
export type { SpeechLoadOptions } from './speech/load-options.js';
export type {
  Segment,
  TranscribeOptions,
  TranscriptionResult,
  TranscriptionStages,
  Word,
} from './speech/options.js';
export { loadSpeechModel, SpeechModel } from './speech/speech-model.js';
export { srtCue, toSrt, toVtt, vttCue } from './speech/subtitles.js';
export { Transcription } from './speech/transcription.js';
export type {
  OutputSchema,
  OutputValue,
  SchemaRules,
  StandardSchema,
  StructuredOptions,
} from './structured/options.js';
export * from './tokenizer/index.js';
