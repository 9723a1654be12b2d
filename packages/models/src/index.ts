export {
  type AnyLoadedWeights,
  type Architecture,
  findArchitecture,
  type GgufForm,
  registerArchitecture,
} from './architecture.js';
export { type AttentionWeights, selfAttention } from './blocks/attention.js';
export { type FeedForwardWeights, swigluFeedForward } from './blocks/feed-forward.js';
export type { DecoderConfig } from './config/decoder-config.js';
export { decoderConfigFromGguf, type GgufSource } from './config/gguf.js';
export { decoderConfigFromHuggingFace, type HuggingFaceSource } from './config/hugging-face.js';
export { Settings } from './config/settings.js';
export { type ConvertOptions, toGguf } from './convert/to-gguf.js';
export type { Decoder } from './decoder.js';
export { describeModel, type ModelDescription } from './describe-model.js';
export { ModelError, type ModelErrorCode } from './error.js';
export { findModel, type ModelLocation } from './find-model.js';
export { type LanguageModel, loadLanguageModel } from './language-model.js';
export { llama, llamaDecoder } from './llama.js';
export { llamaWeights } from './llama-weights.js';
export { mistral } from './mistral.js';
export {
  type CompanionName,
  companionNames,
  type GgufModelFile,
  type HuggingFaceModelFile,
  type ModelFile,
  openModelFile,
} from './model-file.js';
export { qwen2 } from './qwen2.js';
export { qwen3 } from './qwen3.js';
export * from './synthetic/index.js';
export { bytesOn, type LoadOptions, readsNatively } from './weights/load-weights.js';
export type { FileTensor, Naming, WeightFile } from './weights/weight-file.js';
export type { LoadedWeights, WeightEntry, WeightTable } from './weights/weight-table.js';
