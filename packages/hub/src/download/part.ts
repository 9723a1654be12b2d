import { aborted } from '../error.js';
import { brokenConnection, type Passing } from '../http/faults.js';
import { Attempts } from '../http/retry.js';
import type { Settings } from '../settings.js';
import type { Source } from './open-range.js';
import type { Slots } from './slots.js';

/** Bytes [from, to) of a file: fetched at once, kept until they are read, in their order. */
export class Part {
  readonly #chunks: Buffer[] = [];
  #at: number;
  #wake: (() => void) | undefined;
  #end: { readonly error?: unknown } | undefined;
  #giveSlot: (() => void) | undefined;

  constructor(
    private readonly source: Source,
    private readonly settings: Settings,
    from: number,
    private readonly to: number,
    private readonly signal: AbortSignal,
  ) {
    this.#at = from;
  }

  /** Starts the requests, with a slot that is held until the last chunk has been read. */
  start(slots: Slots): this {
    this.#run(slots).then(
      () => this.#finish({}),
      (error: unknown) => this.#finish({ error }),
    );
    return this;
  }

  async #run(slots: Slots): Promise<void> {
    this.#giveSlot = await slots.take(this.signal);
    const attempts = new Attempts(this.settings);
    while (this.#at < this.to)
      try {
        await this.#receive(attempts);
      } catch (error) {
        if (this.signal.aborted) throw aborted(this.signal);
        await attempts.next(error, this.signal);
      }
  }

  /** One request for the missing bytes. */
  async #receive(attempts: Attempts): Promise<void> {
    const answer = await this.source.open(this.#at, this.to, this.signal);
    const { body, url } = answer;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        attempts.progressed();
        const isWhole = this.#at === this.to; // more than the range that was asked for
        if (isWhole || (this.#add(chunk) && answer.status === 200 && this.to < this.source.file.size)) break; // the rest is for other parts
      }
    } catch (error) {
      if (this.#at < this.to) throw this.#broken(url, error);
    } finally {
      if (!body.complete) body.destroy();
    }
    if (this.#at < this.to)
      throw this.#broken(url, new Error(`the connection ended ${this.to - this.#at} bytes early`));
  }

  #broken(url: URL, cause: unknown): Passing {
    return brokenConnection(this.source.subject, url, cause);
  }

  /** True: the part is whole. */
  #add(chunk: Buffer): boolean {
    const fitting = chunk.subarray(0, this.to - this.#at);
    if (fitting.length > 0) this.#chunks.push(fitting);
    this.#at += fitting.length;
    this.#wake?.();
    return this.#at === this.to;
  }

  #finish(end: { readonly error?: unknown }): void {
    this.#end = end;
    if ('error' in end) this.#giveSlot?.();
    this.#wake?.();
  }

  /** The chunks are not needed. The caller aborts the signal. */
  discard(): void {
    this.#chunks.length = 0;
    this.#giveSlot?.();
  }

  /** The chunks in their order, as they come. @throws the error that ended the requests */
  async *read(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk) yield chunk;
        else if (this.#end === undefined) await this.#more();
        else if ('error' in this.#end) throw this.#end.error;
        else return;
      }
    } finally {
      this.#giveSlot?.();
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
