import { Transform, type TransformCallback } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { ReadStream } from 'node:tty';
import type { PasteFilter } from './paste-filter.js';

/** Time in which the rest of a key's bytes comes. */
const restMs = 50;

/** A terminal's input through a filter, for a line editor. */
export class PasteInput extends Transform {
  readonly isTTY = true;
  private readonly decoder = new StringDecoder();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly terminal: ReadStream,
    private readonly pastes: PasteFilter,
  ) {
    super();
    terminal.pipe(this);
  }

  /** Called by readline. */
  setRawMode(raw: boolean): this {
    this.terminal.setRawMode(raw);
    return this;
  }

  /** Leaves the terminal alone. */
  release(): void {
    clearTimeout(this.timer);
    this.terminal.unpipe(this);
    this.terminal.pause();
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    clearTimeout(this.timer);
    this.send(this.pastes.push(this.decoder.write(chunk)));
    if (this.pastes.waits) this.timer = setTimeout(() => this.send(this.pastes.flush()), restMs);
    done();
  }

  private send(text: string): void {
    if (text !== '') this.push(text);
  }
}
