import { SPACE_MARK } from './sentencepiece-bpe.js';

// tokenizer.json marks tokens inside words, GGUF marks tokens at the start of words: "##ing" and "play" become "ing"
// and "▁play".

export const toMarked = (token: string): string =>
  token.startsWith('##') ? token.slice(2) : SPACE_MARK + token;

export const fromMarked = (token: string): string =>
  token.startsWith(SPACE_MARK) ? token.slice(SPACE_MARK.length) : `##${token}`;
