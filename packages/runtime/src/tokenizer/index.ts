export { TokenizerError, type TokenizerErrorCode } from './error.js';
export { loadTokenizerFromGguf, tokenizerFromGguf } from './gguf.js';
export type { GgufMetadata } from './gguf-fields.js';
export { type TokenizerSettings, tokenizerFromHuggingFace, tokenizerFromJson } from './hugging-face.js';
export { StopMatcher, type StopResult } from './stop-matcher.js';
export type { TextSteps } from './text-steps.js';
export type { TokenSource, TokenStreamOptions } from './token-source.js';
export { decodeTokens, TokenStream } from './token-stream.js';
export type { DecodeOptions, EncodeInTurnsOptions, EncodeOptions, Tokenizer } from './tokenizer.js';
