import type { ChatMessage } from '../chat/index.js';
import { ReadOnce } from '../read-once.js';
import type { ChatPiece, ChatResult } from './chat-result.js';
import { ChatRun, type ChatSource } from './chat-run.js';
import type { ChatOptions } from './generate-options.js';
import { nothing } from './generation.js';

/**
 * The answer to a chat, parted into text, thoughts and calls of tools, and read as a `Generation` is. Tools with `run`
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
      'a generation can be read once: keep its pieces, or generate again',
    );
  }
}
