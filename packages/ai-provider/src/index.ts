export type { EmbeddingModelOptions } from './embedding-model.js';
export type { LanguageModelOptions } from './language-options.js';
export { createQuern, type QuernProvider, type QuernSettings } from './provider.js';
export type { TranscriptionModelOptions } from './transcription-model.js';
