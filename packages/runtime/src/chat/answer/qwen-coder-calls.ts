import { Awaited } from './awaited.js';
import type { CallReader, CallSink } from './call-output.js';
import { MarkReader } from './mark-finder.js';

const CALL = '<tool_call>';
const FUNCTION = '<function=';
const PARAMETER = '<parameter=';
const END_CALL = '</tool_call>';
const MOST_NAME = 256;

/** Whether a parameter is written as it is, not as JSON. */
export const isText = ({ type }: { readonly type?: unknown }): boolean =>
  Array.isArray(type) ? type.length === 1 && type[0] === 'string' : type === 'string';

/** The JSON text of a parameter's text: a string where the schema says so, or where it is no JSON. */
function asJson(text: string, schema: Readonly<Record<string, unknown>>): string {
  if (isText(schema)) return JSON.stringify(text);
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return JSON.stringify(text);
  }
}

/** One line break at each end belongs to the form. */
const bare = (text: string): string => text.replace(/^\n/, '').replace(/\n$/, '');

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** `<tool_call><function=f><parameter=a>text</parameter>…</function></tool_call>`, as Qwen3-Coder writes calls. */
export class QwenCoderCalls implements CallReader {
  static readonly marks = [CALL, FUNCTION];
  ended = false;
  private held: string;
  private place: 'before' | 'name' | 'function' | 'key' | 'parameter' | 'behind';
  private name = '';
  private key = '';
  private parts: string[] = [];
  private members = 0;
  private readonly inFunction = new MarkReader([PARAMETER, '</function>', END_CALL]);
  private readonly inParameter = new MarkReader(['</parameter>', END_CALL]);
  /** `<function=` before the function, `</tool_call>` behind it. */
  private awaited = new Awaited(FUNCTION);

  constructor(
    private readonly sink: CallSink,
    mark: string,
  ) {
    this.held = mark;
    this.place = mark === FUNCTION ? 'name' : 'before';
  }

  get rest(): string {
    return this.held;
  }

  read(text: string, from: number): number {
    let at = from;
    while (at < text.length && !this.ended) at = this.readSome(text, at);
    return at;
  }

  private readSome(text: string, at: number): number {
    if (this.place === 'function') return this.readTo(this.inFunction, text, at);
    if (this.place === 'parameter') return this.readTo(this.inParameter, text, at);
    const c = text[at]!;
    const taken = this.place === 'name' || this.place === 'key' ? this.inName(c) : this.besideFunction(c);
    return taken ? at + 1 : at;
  }

  private besideFunction(c: string): boolean {
    const step = this.awaited.step(c);
    if (step === 'other') {
      this.ended = true;
      return false;
    }
    this.held += c;
    if (step === 'whole' && this.place === 'before') this.place = 'name';
    else if (step === 'whole') this.end();
    return true;
  }

  private inName(c: string): boolean {
    const isName = this.place === 'name';
    if (c === '>') {
      if (isName) this.begin();
      else this.place = 'parameter';
      return true;
    }
    if (isName) {
      this.held += c;
      this.name += c;
      this.ended = c === '\n' || c === '<' || this.name.length > MOST_NAME;
    } else this.key += c;
    return true;
  }

  private begin(): void {
    this.held = '';
    this.place = 'function';
    this.sink.call(this.name.trim());
    this.sink.arguments('{');
  }

  private readTo(reader: MarkReader, text: string, from: number): number {
    const { before, mark, end } = reader.read(text, from);
    if (this.place === 'parameter') this.parts.push(before);
    if (mark !== undefined) this.meet(mark);
    return end;
  }

  private meet(mark: string): void {
    if (this.place === 'parameter') this.giveParameter();
    if (mark === PARAMETER) {
      this.key = '';
      this.place = 'key';
    } else if (mark === '</parameter>') this.place = 'function';
    else {
      this.sink.arguments('}');
      this.place = 'behind';
      this.awaited = new Awaited(END_CALL);
      if (mark === END_CALL) this.end();
    }
  }

  private giveParameter(): void {
    const { name, key, sink } = this;
    const schema = record(sink.tools?.find((tool) => tool.name === name.trim())?.parameters);
    const parameter = record(record(schema.properties)[key]);
    const separator = this.members++ === 0 ? '' : ', ';
    sink.arguments(`${separator}${JSON.stringify(key)}: ${asJson(bare(this.parts.join('')), parameter)}`);
    this.parts = [];
  }

  private end(): void {
    this.held = '';
    this.ended = true;
  }
}
