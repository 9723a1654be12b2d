import type { CallFormat } from './call-formats.js';
import { type AnswerTool, type CallSink, newCallId } from './call-output.js';
import { Calls } from './calls.js';
import { EdgeSpaces } from './edge-spaces.js';
import { type AnswerEvent, addEvent } from './events.js';
import { Thoughts, type ThoughtsSink } from './thoughts.js';

export interface AnswerParserOptions {
  /** How the model writes calls; absent: calls stay text. */
  readonly calls?: CallFormat | undefined;
  /** 'parted': thoughts may begin the answer. 'open': the prompt has begun them. Absent: thoughts stay text. */
  readonly thinking?: 'parted' | 'open' | undefined;
  /** The tools that may be called. Where no marks announce calls, only their names make a call. */
  readonly tools?: readonly AnswerTool[] | undefined;
  /** The id of a new call; default: nine random letters and digits. */
  readonly newId?: (() => string) | undefined;
}

/**
 * Parts the text of an answer, as it comes, into text, thoughts and calls of tools. However the text is cut into
 * chunks, the events say the same. White space beside thoughts and calls is dropped; all other text is kept.
 *
 * What looks like a call is text if it breaks off being one before its name and the start of its arguments are known.
 * Afterwards it stays a call: what follows and is no JSON becomes part of its arguments, as the model wrote it, up to
 * the family's closing mark or the end of the answer.
 */
export class AnswerParser implements CallSink, ThoughtsSink {
  readonly tools: readonly AnswerTool[] | undefined;
  private events: AnswerEvent[] = [];
  private readonly thoughts: Thoughts | undefined;
  private readonly calls: Calls | undefined;
  private readonly thinkingSpaces = new EdgeSpaces(true);
  private readonly textSpaces = new EdgeSpaces();
  private readonly newId: () => string;
  private index = -1;

  constructor({ calls, thinking, tools, newId = newCallId }: AnswerParserOptions) {
    this.tools = tools;
    this.newId = newId;
    this.thoughts = thinking && new Thoughts(this, thinking === 'open');
    this.calls = calls && new Calls(this, calls);
  }

  /** The events completed by a chunk of the answer. */
  push(text: string): AnswerEvent[] {
    if (this.thoughts) this.thoughts.push(text);
    else this.answer(text);
    return this.take();
  }

  /** The answer has ended: the remaining events. */
  end(): AnswerEvent[] {
    this.thoughts?.end();
    this.calls?.end();
    this.add('text', this.textSpaces.flush());
    return this.take();
  }

  thinking(text: string): void {
    this.add('thinking', this.thinkingSpaces.push(text));
  }

  thought(): void {
    this.textSpaces.mark();
  }

  answer(text: string): void {
    if (this.calls) this.calls.push(text);
    else this.text(text);
  }

  text(text: string): void {
    this.add('text', this.textSpaces.push(text));
  }

  call(name: string): void {
    this.textSpaces.mark();
    this.index++;
    addEvent(this.events, { type: 'call', index: this.index, id: this.newId(), name });
  }

  arguments(text: string): void {
    addEvent(this.events, { type: 'arguments', index: this.index, text });
  }

  private add(type: 'text' | 'thinking', text: string): void {
    if (text !== '') addEvent(this.events, { type, text });
  }

  private take(): AnswerEvent[] {
    const { events } = this;
    this.events = [];
    return events;
  }
}
