import { type CallSink, isTool } from './call-output.js';
import { JsonScanner } from './json-scanner.js';

const isArguments = (key: string): boolean => key === 'arguments' || key === 'parameters';
const usualKeys: readonly string[] = ['name', 'arguments', 'parameters', 'type', 'id'];

const isPlain = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Arguments that are no object in the text: absent, null, or an object inside of a string. */
function lateArguments(raw: string | undefined): string | undefined {
  const value: unknown = JSON.parse(raw ?? 'null');
  if (value === null) return '{}';
  if (isPlain(value)) return raw;
  try {
    return typeof value === 'string' && isPlain(JSON.parse(value)) ? value : undefined;
  } catch {
    return undefined;
  }
}

type Progress = 'not begun' | 'in arguments' | 'behind arguments';

/** What a text is whose next character cannot follow. A call that only lacks its last brace is whole. */
const whereBad = {
  'not begun': 'refused',
  'in arguments': 'broken',
  'behind arguments': 'done',
} as const satisfies Record<Progress, string>;

/**
 * One call as an object: `{"name": "f", "arguments": {…}}`, or "parameters". The call begins where its name and the
 * brace of its arguments have come; from there on the arguments are given out as they come.
 */
export class CallObject {
  /**
   * 'refused': not a call, `held` is text. 'broken': the arguments stop being JSON here. The character that decides is
   * not taken.
   */
  state: 'reading' | 'done' | 'refused' | 'broken' = 'reading';
  /** The text so far, until the call begins. */
  held = '';
  private readonly scanner = new JsonScanner();
  private key = '';
  private member: string | undefined;
  private value = '';
  private name: string | undefined;
  private late: string | undefined;
  private progress: Progress = 'not begun';

  /** @param bare nothing announces the call: it must name a tool and have the usual keys */
  constructor(
    private readonly sink: CallSink,
    private readonly bare: boolean,
  ) {}

  /** The call has been given out. */
  get begun(): boolean {
    return this.progress !== 'not begun';
  }

  read(text: string, from: number): number {
    let at = from;
    while (at < text.length && this.state === 'reading' && this.take(text[at]!)) at++;
    if (this.progress === 'in arguments') this.giveValue(this.state === 'broken' ? 0 : this.scanner.pending);
    return at;
  }

  private take(c: string): boolean {
    const part = this.scanner.step(c);
    if (part === 'bad') {
      this.state = whereBad[this.progress];
      return false;
    }
    if (this.progress === 'not begun') this.held += c;
    if (part === 'key') this.key += this.scanner.escaped(c);
    else if (part === 'value') this.takeValue(this.scanner.escaped(c));
    else if (this.member !== undefined) this.endMember(c);
    if (this.scanner.done) this.endObject();
    return true;
  }

  private takeValue(c: string): void {
    if (this.member === undefined) this.beginMember(c);
    this.value += c;
  }

  private beginMember(c: string): void {
    this.member = JSON.parse(this.key) as string;
    this.key = '';
    const unusual = this.bare && this.progress === 'not begun' && !usualKeys.includes(this.member);
    if (unusual) this.state = 'refused';
    else if (isArguments(this.member) && c === '{' && this.name !== undefined) this.begin('in arguments');
  }

  private begin(progress: Progress): void {
    if (this.progress !== 'not begun') return;
    this.progress = progress;
    this.held = '';
    this.sink.call(this.name!);
  }

  /** Behind a value: only white space, a comma or the brace come. */
  private endMember(c: string): void {
    if (c !== ',' && c !== '}') return;
    const { member, value } = this;
    if (this.progress === 'in arguments') {
      this.giveValue();
      this.progress = 'behind arguments';
    } else if (this.progress === 'not begun' && member === 'name') this.setName(value);
    else if (this.progress === 'not begun' && isArguments(member!)) this.late = value;
    this.member = undefined;
    this.value = '';
  }

  private setName(raw: string): void {
    const name: unknown = JSON.parse(raw);
    const fits = typeof name === 'string' && name !== '' && (!this.bare || isTool(this.sink, name));
    if (fits) this.name = name;
    else this.state = 'refused';
  }

  private endObject(): void {
    if (this.state === 'refused') return;
    this.state = 'done';
    if (this.progress !== 'not begun') return;
    const text = this.name === undefined ? undefined : lateArguments(this.late);
    if (text === undefined) {
      this.state = 'refused';
      return;
    }
    this.begin('behind arguments');
    this.sink.arguments(text);
  }

  /** @param pending characters at the end that wait for the rest of their escape */
  private giveValue(pending = 0): void {
    const sure = this.value.slice(0, this.value.length - pending);
    if (sure !== '') this.sink.arguments(sure);
    this.value = this.value.slice(sure.length);
  }
}
