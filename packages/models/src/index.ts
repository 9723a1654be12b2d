export type { AnyLoadedWeights, Architecture, GgufForm } from './architecture.js';
export {
  type AttentionWeights,
  attendCache,
  type Heads,
  projectHeads,
  selfAttention,
} from './blocks/attention.js';
export {
  type FeedForwardWeights,
  gegluFeedForward,
  geluFeedForward,
  swigluFeedForward,
} from './blocks/feed-forward.js';
export { type MixtureWeights, mixtureFeedForward, sparseFeedForward } from './blocks/mixture.js';
export { modelNorm, rootMeanSquareNorm } from './blocks/norm.js';
export { type OutputNorms, postNormLayer } from './blocks/post-norm-layer.js';
export { type LayerBlocks, type LayerNorms, preNormLayer } from './blocks/pre-norm-layer.js';
export { sparseLayer } from './blocks/sparse-layer.js';
export { embedAndLogits, type VocabularyWeights } from './blocks/vocabulary.js';
export {
  type DecoderConfig,
  type HeadKeys,
  limits,
  type MixtureConfig,
  readHeads,
  sameWindow,
} from './config/decoder-config.js';
export { readGelu } from './config/gelu.js';
export { gemmaDiffers, gemmaFromGguf, gemmaFromHuggingFace } from './config/gemma.js';
export { decoderConfigFromGguf, type GgufRules, type GgufSource, hasExperts } from './config/gguf.js';
export {
  decoderConfigFromHuggingFace,
  type HuggingFaceRules,
  type HuggingFaceSource,
} from './config/hugging-face.js';
export { layerRope } from './config/layer-rope.js';
export {
  deepSeekMixture,
  mixtralMixture,
  mixtureFromGguf,
  qwen3MoeMixture,
  routedMixtureFromGguf,
} from './config/mixture.js';
export { Settings } from './config/settings.js';
export {
  mistralWindows,
  mixtralWindows,
  noWindows,
  periodicWindows,
  qwen3MoeWindows,
  qwenWindows,
} from './config/windows.js';
export { encoderToGguf } from './convert/encoder-to-gguf.js';
export { speechToGguf } from './convert/speech-to-gguf.js';
export { type ConvertOptions, toGguf } from './convert/to-gguf.js';
export type { Decoder } from './decoder.js';
export {
  describeModel,
  type ModelCosts,
  type ModelDescription,
  rangeCost,
  type WeightCost,
} from './describe-model.js';
export { type EncoderAttentionWeights, encoderAttention } from './encoder/attention.js';
export { bert, bertEncoder } from './encoder/bert.js';
export { bertWeights } from './encoder/bert-weights.js';
export {
  decoderAsEncoder,
  type EmbeddingDecoder,
  type EmbeddingDecoderConfig,
} from './encoder/decoder-as-encoder.js';
export { type BatchOptions, type EmbedBackend, embedBackend, rowsOfStep } from './encoder/embed-backend.js';
export type { Encoder, EncoderArchitecture, EncoderBatch } from './encoder/encoder.js';
export {
  bertKeys,
  type EncoderKeys,
  encoderConfigFromGguf,
  encoderConfigFromHuggingFace,
} from './encoder/encoder-config.js';
export { type EncoderFile, embedsTexts, openEncoderFile } from './encoder/encoder-file.js';
export {
  describeEncoder,
  type EncodedText,
  type EncoderDescription,
  type EncoderModel,
  loadEncoder,
} from './encoder/encoder-model.js';
export type { EmbeddingRules, EncoderConfig } from './encoder/encoder-parameters.js';
export { nomicBert, nomicBertWeights } from './encoder/nomic-bert.js';
export { projection } from './encoder/projection.js';
export { bertName, ggufParts, renameBert } from './encoder/rename.js';
export { roberta } from './encoder/roberta.js';
export { ModelError, type ModelErrorCode } from './error.js';
export { exampleModels } from './example-models.js';
export { findModel, type ModelLocation } from './find-model.js';
export { gemma2, gemma2Weights, gemmaDecoder, gemmaNorm } from './gemma2.js';
export { gemma3 } from './gemma3.js';
export {
  fusedQkv,
  fusedQkvBiases,
  geluDiffers,
  renamedEnds,
  renamedEntry,
  rowsByGroup,
} from './gpt-weights.js';
export {
  type AdaptedPart,
  type LanguageModel,
  loadLanguageModel,
  type ModelPart,
  type PartPlace,
} from './language-model.js';
export { layerNormEnds, layerNormEntries } from './layer-norm-weights.js';
export { type LayerRange, rangeFault, showLayers, showRange } from './layer-ranges.js';
export { llama, llamaDecoder } from './llama.js';
export { llamaWeights } from './llama-weights.js';
export type { AdaptedRows } from './lora/adapted-backend.js';
export {
  type Adapter,
  type DenseMatrix,
  type LowRankPair,
  type OpenAdapterOptions,
  openAdapter,
} from './lora/adapter-file.js';
export {
  type AdaptablePart,
  type AdapterStacks,
  loadAdapters,
  type MatrixStack,
} from './lora/adapter-stacks.js';
export { mistral } from './mistral.js';
export { mixtral } from './mixtral.js';
export {
  denseFeedForward,
  type ExpertNames,
  mixtureEntries,
  selectionBias,
  sharedEntries,
  splitExperts,
} from './mixture-weights.js';
export {
  type CompanionName,
  companionNames,
  type GgufModelFile,
  type HuggingFaceModelFile,
  type ModelFile,
  openModelFile,
} from './model-file.js';
export { phi3 } from './phi3.js';
export { qwen2 } from './qwen2.js';
export { type Qwen3AttentionWeights, qwen3, qwen3Attention, qwen3Weights } from './qwen3.js';
export { qwen3Moe } from './qwen3-moe.js';
export {
  type RegisteredArchitecture,
  type RegisterOptions,
  registerArchitecture,
  registeredArchitectures,
  registeringFor,
} from './registered.js';
export {
  findArchitecture,
  findEncoder,
  hasArchitecture,
  type KnownArchitecture,
  knownArchitectures,
} from './registry.js';
export * from './synthetic/index.js';
export type { FileTensor } from './weights/file-tensor.js';
export { bytesOn, type LoadOptions, readsNatively } from './weights/load-weights.js';
export { cutRows, mapTensors } from './weights/map-tensors.js';
export type { Naming, StoredTensor, TensorStack, WeightFile } from './weights/weight-file.js';
export type {
  DecoderWeightTable,
  LoadedWeights,
  RowRange,
  WeightEntry,
  WeightTable,
} from './weights/weight-table.js';
export type { StackConfig, WhisperConfig } from './whisper/config.js';
export type { DecoderBatch, DecoderCaches, WhisperDecoder } from './whisper/decoder.js';
export { describeSpeech, type SpeechDescription } from './whisper/describe.js';
export type { WindowInputs } from './whisper/encoder.js';
export { hop, LogMel, melFilters, normaliseLogMel, sampleRate } from './whisper/log-mel.js';
export { loadWhisper, type WhisperModel } from './whisper/model.js';
export { openSpeechModel, type SpeechFile } from './whisper/open.js';
export {
  makeSyntheticSpeechModel,
  type SpeechShape,
  type SpeechShapeName,
  type SyntheticSpeechOptions,
  speechShapes,
  syntheticSpeechSchema,
} from './whisper/synthetic.js';
