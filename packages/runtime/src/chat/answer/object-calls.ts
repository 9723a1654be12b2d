import { Awaited } from './awaited.js';
import { CallObject } from './call-object.js';
import type { CallReader, CallSink } from './call-output.js';
import { isSpace } from './edge-spaces.js';
import { MarkReader } from './mark-finder.js';

/** How a family writes calls as objects. */
export interface ObjectCallsForm {
  /** Ends the calls; '' for none. */
  readonly close: string;
  /** `close` also ends arguments that are not JSON; otherwise they reach to the end of the answer. */
  readonly resumes: boolean;
  /** Between two calls; '' for white space alone. */
  readonly separator: string;
  /** May stand before the first call, beside white space; '' for nothing. */
  readonly lead: string;
  /** No mark announces the calls: an object must name a tool. */
  readonly bare: boolean;
}

/** Calls as JSON objects, one after the other. */
export class ObjectCalls implements CallReader {
  ended = false;
  private held: string;
  private object: CallObject | undefined;
  private place: 'before' | 'object' | 'broken' | 'behind' = 'before';
  private closing: Awaited;
  /** Reads arguments that are not JSON. */
  private readonly broken: MarkReader | undefined;

  /** @param mark what announced the calls: text if none follows */
  constructor(
    private readonly sink: CallSink,
    private readonly form: ObjectCallsForm,
    mark: string,
  ) {
    this.held = mark;
    this.closing = new Awaited(form.close);
    this.broken = form.resumes ? new MarkReader([form.close]) : undefined;
  }

  get rest(): string {
    if (this.object?.begun) return '';
    return this.held + (this.object?.held ?? '') + (this.broken?.held ?? '');
  }

  read(text: string, from: number): number {
    let at = from;
    while (at < text.length && !this.ended) {
      if (this.place === 'object') at = this.readObject(text, at);
      else if (this.place === 'broken') at = this.readBroken(text, at);
      else if (this.takes(text[at]!)) at++;
    }
    return at;
  }

  private readObject(text: string, from: number): number {
    const object = this.object!;
    const at = object.read(text, from);
    if (object.state === 'reading') return at;
    if (object.state === 'refused') this.ended = true;
    else this.leaveObject(object.state);
    return at;
  }

  private leaveObject(state: 'done' | 'broken'): void {
    this.object = undefined;
    this.held = '';
    this.closing = new Awaited(this.form.close);
    this.place = state === 'done' ? 'behind' : 'broken';
  }

  /** What is not JSON stays part of the arguments. */
  private readBroken(text: string, from: number): number {
    const { before, mark, end } = this.broken?.read(text, from) ?? {
      before: text.slice(from),
      end: text.length,
    };
    if (before !== '') this.sink.arguments(before);
    this.ended = mark !== undefined;
    return end;
  }

  /** A character before or behind an object. False: it is for the object, or for nobody here. */
  private takes(c: string): boolean {
    const taken = this.place === 'before' ? this.before(c) : this.behind(c);
    if (taken && !this.ended) this.held += c;
    else if (!taken && this.place !== 'object') this.ended = true;
    return taken;
  }

  private before(c: string): boolean {
    if (c === '{') return this.beginObject();
    return isSpace(c) || c === this.form.lead;
  }

  private behind(c: string): boolean {
    const { separator } = this.form;
    const { untouched } = this.closing;
    if (untouched && c === '{' && separator === '') return this.beginObject();
    if (untouched && c === separator) this.place = 'before';
    else return this.closes(c);
    return true;
  }

  private beginObject(): false {
    this.object = new CallObject(this.sink, this.form.bare);
    this.place = 'object';
    return false;
  }

  private closes(c: string): boolean {
    const step = this.closing.step(c);
    if (step !== 'whole') return step === 'more';
    this.held = '';
    this.ended = true;
    return true;
  }
}
