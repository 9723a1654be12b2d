import type { AnswerTool, CallSink } from './call-output.js';
import type { Calls } from './calls.js';
import { EdgeSpaces } from './edge-spaces.js';
import { type AnswerEvent, addEvent } from './events.js';
import type { ThoughtsSink } from './thoughts.js';

/** Collects what the parsers find. */
export class AnswerSink implements CallSink, ThoughtsSink {
  /** Takes the text behind the thoughts; undefined: it has no calls. */
  calls: Calls | undefined;
  behindCall = false;
  private events: AnswerEvent[] = [];
  private readonly thinkingSpaces = new EdgeSpaces(true);
  private readonly textSpaces = new EdgeSpaces();
  private index = -1;

  constructor(
    readonly tools: readonly AnswerTool[] | undefined,
    private readonly newId: () => string,
  ) {}

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
    const sure = this.textSpaces.push(text);
    if (sure !== '') this.behindCall = false;
    this.add('text', sure);
  }

  call(name: string): void {
    this.textSpaces.mark();
    this.behindCall = true;
    this.index++;
    addEvent(this.events, { type: 'call', index: this.index, id: this.newId(), name });
  }

  arguments(text: string): void {
    addEvent(this.events, { type: 'arguments', index: this.index, text });
  }

  /** No more text comes. */
  end(): void {
    this.calls?.end();
    this.add('text', this.textSpaces.flush());
  }

  /** The events since the last call. */
  take(): AnswerEvent[] {
    const { events } = this;
    this.events = [];
    return events;
  }

  private add(type: 'text' | 'thinking', text: string): void {
    if (text !== '') addEvent(this.events, { type, text });
  }
}
