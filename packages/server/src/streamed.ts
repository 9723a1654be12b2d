import type { Call } from './context.js';
import type { ApiError } from './errors.js';

/** Most bytes that wait for a slow client; the generation pauses then. */
const mostWaiting = 64 << 10;

const encoder = new TextEncoder();

/** How a response is written while its text is made. */
export interface StreamForm {
  readonly headers: Readonly<Record<string, string>>;
  /** Written where no text came for `call.keepAliveMs`; '': nothing. */
  readonly keepAlive: string;
  /** The text of an error. Without it an error breaks the connection. */
  readonly onError?: ((error: ApiError) => string) | undefined;
}

/**
 * A response of texts or bytes, as they come. They are made as fast as they can, so that a slow client does not hold the step of
 * the others; beyond `mostWaiting` bytes they wait for the client. Where the client is gone, the call is aborted.
 */
export function streamed(texts: AsyncIterable<string | Uint8Array>, call: Call, form: StreamForm): Response {
  call.streams();
  const source = new Source(texts, call, form);
  const size = (chunk?: Uint8Array) => chunk?.length ?? 0;
  const body = new ReadableStream(source, { highWaterMark: mostWaiting, size });
  return new Response(body, { headers: form.headers });
}

/** What a ReadableStream reads. */
class Source {
  private controller!: ReadableStreamDefaultController<Uint8Array>;
  private timer: NodeJS.Timeout | undefined;
  private cancelled = false;
  private resume = (): void => {};

  constructor(
    private readonly texts: AsyncIterable<string | Uint8Array>,
    private readonly call: Call,
    private readonly form: StreamForm,
  ) {}

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.controller = controller;
    const { keepAliveMs } = this.call;
    if (this.form.keepAlive !== '' && keepAliveMs > 0) this.timer = setInterval(this.keepAlive, keepAliveMs);
    void this.pump();
  }

  pull(): void {
    this.resume();
  }

  cancel(): void {
    this.cancelled = true;
    clearInterval(this.timer);
    this.call.abort();
    this.resume();
  }

  private get isFull(): boolean {
    return (this.controller.desiredSize ?? 0) <= 0;
  }

  private readonly keepAlive = (): void => {
    if (!this.isFull) this.write(this.form.keepAlive);
  };

  private write(text: string | Uint8Array): void {
    if (this.cancelled) return;
    this.controller.enqueue(typeof text === 'string' ? encoder.encode(text) : text);
  }

  private async pump(): Promise<void> {
    try {
      for await (const text of this.texts) {
        if (this.cancelled) return;
        this.timer?.refresh();
        this.write(text);
        if (this.isFull) await this.room();
      }
      this.end();
    } catch (error) {
      this.fail(this.call.explain(error));
    } finally {
      clearInterval(this.timer);
      this.call.end();
    }
  }

  private room(): Promise<void> {
    return new Promise<void>((resolve) => {
      this.resume = resolve;
    });
  }

  private end(): void {
    if (!this.cancelled) this.controller.close();
  }

  private fail(error: ApiError): void {
    const { onError } = this.form;
    if (onError) {
      this.write(onError(error));
      this.end();
    } else if (!this.cancelled) this.controller.error(error);
  }
}
