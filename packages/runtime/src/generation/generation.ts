import { ReadOnce } from '../read-once.js';
import type { GenerateOptions, GenerationPiece, GenerationResult } from './generate-options.js';
import type { GenerationSource } from './generation-source.js';
import { Run } from './run.js';

/**
 * A text that is generated as it is read: `for await (const {text} of generation)`, or `await generation.result` for all
 * of it at once. It can be read once. Nothing runs more than milliseconds ahead of the reader, and nothing at all until
 * somebody reads; a loop that is left early frees everything. Errors reject both the loop and `result`.
 */
export class Generation extends ReadOnce<GenerationPiece, GenerationResult> {
  constructor(source: GenerationSource, options: GenerateOptions) {
    super(
      () => Run.begin(source, options),
      nothing,
      'a generation can be read once: keep its pieces, or generate again',
    );
  }
}

/** The result of a generation that nobody read. */
const nothing: GenerationResult = {
  text: '',
  tokens: [],
  reason: 'abort',
  promptTokens: 0,
  reusedTokens: 0,
  draftedTokens: 0,
  acceptedTokens: 0,
  prefillMs: 0,
  decodeMs: 0,
  prefillTokensPerSecond: 0,
  decodeTokensPerSecond: 0,
};
