import { CALL_FORMS, type CallForm, type CallFormat } from './call-formats.js';
import type { CallReader, CallSink } from './call-output.js';
import { MarkReader } from './mark-finder.js';

/** Parts the calls of tools from the text of an answer. */
export class Calls {
  private readonly form: CallForm;
  private readonly marks: MarkReader;
  private reader: CallReader | undefined;

  constructor(
    private readonly sink: CallSink,
    format: CallFormat,
  ) {
    this.form = CALL_FORMS[format];
    this.marks = new MarkReader(this.form.marks);
  }

  push(text: string): void {
    let at = 0;
    while (at < text.length)
      at = this.reader ? this.readCalls(this.reader, text, at) : this.readText(text, at);
  }

  /** The answer ends. After a call, the start of another one is no text. */
  end(): void {
    this.reader?.end?.();
    const rest = (this.reader?.rest ?? '') + this.marks.held;
    this.reader = undefined;
    if (rest !== '' && !this.sink.behindCall) this.sink.text(rest);
  }

  private readText(text: string, at: number): number {
    const { before, mark, end } = this.marks.read(text, at);
    if (before !== '') this.sink.text(before);
    if (mark === undefined) return end;
    this.reader = this.form.open(this.sink, mark);
    return this.form.readAgain.includes(mark) ? end - mark.length : end;
  }

  private readCalls(reader: CallReader, text: string, at: number): number {
    const end = reader.read(text, at);
    if (!reader.ended) return end;
    this.reader = undefined;
    if (reader.rest !== '') this.sink.text(reader.rest);
    return end;
  }
}
