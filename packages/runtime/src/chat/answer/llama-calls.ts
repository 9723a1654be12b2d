import type { CallReader, CallSink } from './call-output.js';
import { isSpace } from './edge-spaces.js';
import { ObjectCalls } from './object-calls.js';
import { PythonCalls } from './python-calls.js';

const objects = { close: '', resumes: false, separator: ';', lead: '' } as const;

const list = { close: ']', resumes: false, separator: ',', lead: '[' } as const;

/** An object that names a tool, anywhere in the answer, with `;` between several; or a list of them. */
export const bareCalls = (sink: CallSink, mark: string): CallReader =>
  new ObjectCalls(sink, { ...(mark === '[' ? list : objects), bare: true }, '');

/** Behind `<|python_tag|>`: objects, or `tool.call(a="x")` for the tools that the model was trained with. */
export class PythonTagCalls implements CallReader {
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
    this.inner ??=
      text[at] === '{' || text[at] === '['
        ? new ObjectCalls(this.sink, { ...(text[at] === '[' ? list : objects), bare: false }, this.held)
        : new PythonCalls(this.sink, this.held);
    return this.inner.read(text, at);
  }
}
