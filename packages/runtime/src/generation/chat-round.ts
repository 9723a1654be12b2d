import type { AnswerCall, AnswerEvent, AnswerParser } from '../chat/answer/index.js';
import type { ChatMessage } from '../chat/index.js';
import type { Production } from '../read-once.js';
import type { ChatPiece } from './chat-result.js';
import type { GenerationPiece, GenerationResult } from './generate-options.js';

/** The work behind one answer. */
export interface RoundParts<Value = unknown, Text extends string = string> {
  readonly run: Production<GenerationPiece, GenerationResult<Value, Text>>;
  readonly parser: AnswerParser;
  /** The start of the answer, which the caller gave. */
  readonly start?: string;
}

const noText: GenerationPiece = { text: '', tokens: [] };

/** One answer of a chat, parted into text, thoughts and calls. */
export class ChatRound<Value = unknown, Text extends string = string> {
  text = '';
  thinking = '';
  readonly calls: AnswerCall[] = [];
  private ended = false;
  /** A second call has begun that may not be. */
  private cut = false;

  constructor(
    private readonly parts: RoundParts<Value, Text>,
    private readonly mostCalls: number,
  ) {}

  /** The next piece, with indices of calls from 0; undefined at the end. */
  async next(): Promise<ChatPiece | undefined> {
    if (this.ended) return undefined;
    const { run, parser } = this.parts;
    const piece = await run.next();
    if (!piece) this.ended = true;
    const events = await this.allowed(piece ? parser.push(piece.text) : parser.end());
    return piece || events.length > 0 ? this.piece(piece ?? noText, events) : undefined;
  }

  cancel(): void {
    this.parts.run.cancel?.();
  }

  close(): void | Promise<void> {
    return this.parts.run.close();
  }

  /** The result so far. Where calls end the answer, its reason is 'calls' to the caller. */
  result(): GenerationResult<Value, Text> {
    return this.parts.run.result();
  }

  /** The answer ends with calls to be run. */
  get calling(): boolean {
    return this.calls.length > 0 && (this.cut || (this.ended && this.result().reason === 'eos'));
  }

  /** The answer as a message, with some of its calls. */
  message(calls: readonly AnswerCall[]): ChatMessage {
    const { text, thinking } = this;
    return {
      role: 'assistant',
      content: (this.parts.start ?? '') + text,
      ...(thinking !== '' && { reasoning_content: thinking }),
      ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
    };
  }

  private async allowed(events: AnswerEvent[]): Promise<AnswerEvent[]> {
    const end = events.findIndex((event) => event.type === 'call' && event.index >= this.mostCalls);
    if (end < 0) return events;
    this.cut = true;
    this.ended = true;
    await this.parts.run.close();
    return events.slice(0, end);
  }

  private piece(piece: GenerationPiece, events: readonly AnswerEvent[]): ChatPiece {
    const found = { text: '', thinking: '', calls: new Map<number, string>() };
    for (const event of events)
      if (event.type === 'call') {
        this.calls.push({ id: event.id, name: event.name, arguments: '' });
        found.calls.set(event.index, '');
      } else if (event.type === 'arguments')
        found.calls.set(event.index, (found.calls.get(event.index) ?? '') + event.text);
      else found[event.type] += event.text;
    const calls = [...found.calls].map(([index, text]) => this.addArguments(index, text));
    this.text += found.text;
    this.thinking += found.thinking;
    return { ...piece, text: found.text, thinking: found.thinking, calls, results: [] };
  }

  private addArguments(index: number, text: string): ChatPiece['calls'][number] {
    const call = this.calls[index]!;
    this.calls[index] = { ...call, arguments: call.arguments + text };
    return { ...call, index, arguments: text };
  }
}

const callOf = ({ id, name, arguments: text }: AnswerCall) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
