import { Awaited } from './awaited.js';
import type { CallReader, CallSink } from './call-output.js';
import { CoderValue } from './coder-value.js';
import { MarkReader } from './mark-finder.js';
import { type ParameterEnd, ParameterText } from './parameter-end.js';

const CALL = '<tool_call>';
const FUNCTION = '<function=';
const PARAMETER = '<parameter=';
const END_CALL = '</tool_call>';
const MOST_NAME = 256;

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

/** `<tool_call><function=f><parameter=a>text</parameter>…</function></tool_call>`, as Qwen3-Coder writes calls. */
export class QwenCoderCalls implements CallReader {
  static readonly marks = [CALL, FUNCTION];
  ended = false;
  private held = '';
  private place: 'before' | 'name' | 'function' | 'key' | 'parameter' | 'behind' = 'before';
  private name = '';
  private key = '';
  /** The parameters so far. */
  private keys = new Set<string>();
  private value: CoderValue | undefined;
  private readonly inFunction = new MarkReader([PARAMETER, '</function>', END_CALL, CALL, FUNCTION]);
  private readonly inParameter = new ParameterText((name) => this.isNext(name));
  /** `<function=` before the function, `</tool_call>` behind it. */
  private awaited = new Awaited(FUNCTION);

  constructor(
    private readonly sink: CallSink,
    mark: string,
  ) {
    this.open(mark);
  }

  get rest(): string {
    return this.held;
  }

  read(text: string, from: number): number {
    let at = from;
    while (at < text.length && !this.ended) at = this.readSome(text, at);
    return at;
  }

  end(): void {
    if (this.place !== 'parameter' || !this.inParameter.isFunctionEnd) return;
    this.giveParameter();
    this.closeArguments();
  }

  /** A call begins. */
  private open(mark: string): void {
    this.held = mark;
    this.name = '';
    this.keys = new Set();
    this.awaited = new Awaited(FUNCTION);
    this.place = mark === FUNCTION ? 'name' : 'before';
  }

  private readSome(text: string, at: number): number {
    if (this.place === 'function') return this.readFunction(text, at);
    if (this.place === 'parameter') return this.readParameter(text, at);
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
    else if (step === 'whole') this.endCall();
    return true;
  }

  private inName(c: string): boolean {
    const isName = this.place === 'name';
    if (c === '>') {
      if (isName) this.begin();
      else this.beginParameter(this.key);
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

  /** Between parameters. */
  private readFunction(text: string, from: number): number {
    const { mark, end } = this.inFunction.read(text, from);
    if (mark === PARAMETER) {
      this.key = '';
      this.place = 'key';
    } else if (mark !== undefined) {
      this.closeArguments();
      if (mark === END_CALL) this.endCall();
      else if (mark !== '</function>') this.open(mark);
    }
    return end;
  }

  private readParameter(text: string, from: number): number {
    const { before, found, end } = this.inParameter.read(text, from);
    this.value!.push(before);
    if (found) this.leaveParameter(found);
    return end;
  }

  private leaveParameter(end: ParameterEnd): void {
    this.giveParameter();
    if (end.type === 'next parameter') this.beginParameter(end.name);
    else if (end.type !== 'parameter') this.closeArguments();
    if (end.type === 'call') this.endCall();
    if (end.type === 'next call') this.open(end.mark);
  }

  private get properties(): Readonly<Record<string, unknown>> {
    const tool = this.sink.tools?.find(({ name }) => name === this.name.trim());
    return record(record(tool?.parameters).properties);
  }

  /** Whether `<parameter=name>` inside of a parameter is another one. */
  private isNext(name: string): boolean {
    const { properties, keys } = this;
    return !keys.has(name) && (Object.keys(properties).length === 0 || Object.hasOwn(properties, name));
  }

  private beginParameter(key: string): void {
    const prefix = `${this.keys.size === 0 ? '' : ', '}${JSON.stringify(key)}: `;
    let isFirst = true;
    this.keys.add(key);
    this.place = 'parameter';
    this.value = new CoderValue(record(this.properties[key]), (json) => {
      this.sink.arguments(isFirst ? prefix + json : json);
      isFirst = false;
    });
  }

  private giveParameter(): void {
    this.value!.end();
    this.place = 'function';
  }

  /** The arguments are whole. */
  private closeArguments(): void {
    this.sink.arguments('}');
    this.place = 'behind';
    this.awaited = new Awaited(END_CALL);
  }

  private endCall(): void {
    this.held = '';
    this.ended = true;
  }
}
