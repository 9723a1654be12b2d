import type { CallReader, CallSink } from './call-output.js';
import { isSpace } from './edge-spaces.js';
import { JsonScanner } from './json-scanner.js';
import { ObjectCalls } from './object-calls.js';

const MOST_HEADER = 512;

/** `name[ARGS]{…}`, or `name[CALL_ID]id[ARGS]{…}`, or `name{…}`: one call behind its `[TOOL_CALLS]`. */
class NamedCall implements CallReader {
  ended = false;
  private header = '';
  /** Of the arguments: an escape that is not whole yet. */
  private held = '';
  private readonly scanner = new JsonScanner();
  private place: 'header' | 'arguments' | 'broken' = 'header';

  constructor(
    private readonly sink: CallSink,
    private readonly mark: string,
  ) {}

  get rest(): string {
    return this.place === 'header' ? this.mark + this.header : '';
  }

  read(text: string, from: number): number {
    let at = from;
    while (at < text.length && this.place === 'header' && !this.ended) if (this.takes(text[at]!)) at++;
    return this.place === 'header' ? at : this.readArguments(text, at);
  }

  private takes(c: string): boolean {
    if (c === '{') return this.begin();
    this.header += c;
    this.ended = c === '\n' || this.header.length > MOST_HEADER;
    return true;
  }

  /** The brace of the arguments has come. */
  private begin(): false {
    const name = /^\s*([^\s[\]]+)(\[CALL_ID\][^[\]]*)?(\[ARGS\])?\s*$/.exec(this.header)?.[1];
    if (name === undefined) this.ended = true;
    else {
      this.place = 'arguments';
      this.sink.call(name);
    }
    return false;
  }

  private readArguments(text: string, from: number): number {
    let at = from;
    let piece = this.held;
    while (at < text.length && this.place === 'arguments' && !this.ended) {
      if (this.scanner.step(text[at]!) === 'bad') this.place = 'broken';
      else piece += this.scanner.escaped(text[at++]!);
      this.ended = this.scanner.done;
    }
    const broken = this.place === 'broken' ? text.slice(at) : '';
    const sure = this.place === 'broken' ? piece.length : piece.length - this.scanner.pending;
    this.held = piece.slice(sure);
    if (sure + broken.length > 0) this.sink.arguments(piece.slice(0, sure) + broken);
    return at + broken.length;
  }
}

/** Behind `[TOOL_CALLS]`: a list of objects, or a name and its arguments. */
export class MistralCalls implements CallReader {
  private inner: CallReader | undefined;
  private held: string;

  constructor(
    private readonly sink: CallSink,
    mark: string,
  ) {
    this.held = mark;
  }

  get ended(): boolean {
    return this.inner?.ended === true;
  }

  get rest(): string {
    return this.inner?.rest ?? this.held;
  }

  read(text: string, from: number): number {
    let at = from;
    while (at < text.length && !this.inner && isSpace(text[at])) this.held += text[at++]!;
    if (at === text.length) return at;
    this.inner ??= this.open(text[at]!);
    return this.inner.read(text, at);
  }

  private open(c: string): CallReader {
    const form = { close: ']', resumes: false, separator: ',', lead: '[', bare: false };
    return c === '[' || c === '{'
      ? new ObjectCalls(this.sink, form, this.held)
      : new NamedCall(this.sink, this.held);
  }
}
