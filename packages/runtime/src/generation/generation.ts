import type { ChatMessage } from '../chat/index.js';
import { ReadOnce } from '../read-once.js';
import type { ChatPiece, ChatResult } from './chat-result.js';
import { ChatRun, type ChatSource } from './chat-run.js';
import type { ChatOptions, GenerateOptions, GenerationPiece, GenerationResult } from './generate-options.js';
import type { GenerationSource } from './generation-source.js';
import { Run } from './run.js';

/**
 * A text, generated while the caller reads: `for await (const {text} of generation)`, or `await generation.result` for
 * the whole text. Readable once. Nothing is computed before the first read; afterwards the model runs at most
 * milliseconds ahead of the reader. Leaving the loop early frees everything. Errors reject both the loop and `result`: a
 * `result` that nobody awaits, without a loop, is an unhandled rejection, except for an abort and a disposed model.
 */
export class Generation<Value = unknown, Text extends string = string> extends ReadOnce<
  GenerationPiece,
  GenerationResult<Value, Text>
> {
  constructor(source: GenerationSource, options: GenerateOptions) {
    super(() => Run.begin<Value, Text>(source, options), nothing, consumed);
  }
}

/**
 * The answer to a chat, parsed into text, reasoning and tool calls, and read as a `Generation` is. Tools with `run`
 * are called between two pieces; the answer goes on with their results.
 */
export class ChatGeneration<Value = unknown, Text extends string = string> extends ReadOnce<
  ChatPiece,
  ChatResult<Value, Text>
> {
  /** @param source checks the options and the messages */
  constructor(source: () => ChatSource<Value, Text>, messages: readonly ChatMessage[], options: ChatOptions) {
    super(
      () => ChatRun.begin(source(), messages, options),
      { ...nothing, thinking: '', calls: [], messages: [] },
      consumed,
    );
  }
}

/** The result of a generation without a reader. */
export const nothing: GenerationResult<never, never> = {
  text: '' as never,
  value: undefined,
  tokens: [],
  reason: 'abort',
  promptTokens: 0,
  cachedTokens: 0,
  draftedTokens: 0,
  acceptedTokens: 0,
  prefillMs: 0,
  decodeMs: 0,
  prefillTokensPerSecond: 0,
  decodeTokensPerSecond: 0,
};

const consumed = 'a generation can be read once: keep its pieces, or generate again';
