import { Worker } from 'node:worker_threads';

/** Some bytes of a file, or some packets of its stream. */
export type Piece = Uint8Array | readonly Uint8Array[];

export interface DecodeJob {
  /** URL of the decoder's module. */
  readonly module: string;
  readonly decoder: string;
  /** For the decoder's constructor. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** The file, in order. The memory of a piece is copied as a whole. */
  readonly pieces: Iterable<Piece> | AsyncIterable<Piece>;
  /** Most samples of the sound. */
  readonly maxSamples: number;
}

/** A decoder's output: one channel, the mean of all. */
export interface Decoded {
  readonly samples: Float32Array;
  readonly sampleRate: number;
}

/** The result of a job. The message is about the decoder (`unusable`) or about the data (`broken`). */
export type DecodeAnswer =
  | { readonly decoded: Decoded }
  | { readonly unusable: string }
  | { readonly broken: string }
  | { readonly tooLong: true };

/** The thread's answer to a piece; the first one says that the decoder is ready. */
type Answer =
  | { readonly part: Decoded; readonly errors: readonly string[] }
  | { readonly unusable: string }
  | { readonly broken: string };

/** The thread's source, as text: a bundle would lose a separate file. */
const source = `
import('node:worker_threads').then(async ({ parentPort, workerData: { module, decoder, options } }) => {
  const opened = await import(module).then(async (exports) => {
    const instance = new exports[decoder](options);
    await instance.ready;
    return { instance };
  }).catch((error) => ({ unusable: String(error?.message ?? error) }));
  const { instance } = opened;
  if (!instance) return parentPort.postMessage(opened);
  const nothing = { channelData: [], sampleRate: 0, errors: [] };
  const decode = (piece) => {
    if (piece === null) return instance.flush ? instance.flush() : nothing;
    return Array.isArray(piece) ? instance.decodeFrames(piece) : instance.decode(piece);
  };
  const mean = (channels) => {
    if (channels.length < 2) return channels[0] ?? new Float32Array();
    const mixed = new Float32Array(channels[0].length);
    for (const channel of channels) for (let i = 0; i < mixed.length; i++) mixed[i] += channel[i] / channels.length;
    return mixed;
  };
  const answer = ({ channelData, sampleRate, errors }) => parentPort.postMessage({
    part: { samples: mean(channelData), sampleRate },
    errors: errors.map(({ message }) => String(message)),
  });
  parentPort.on('message', async (piece) => {
    try {
      answer(await decode(piece));
    } catch (error) {
      parentPort.postMessage({ broken: String(error?.message ?? error) });
    }
  });
  answer(nothing);
});`;

/**
 * Decodes a file, piece by piece, in a thread of its own; the thread ends with the answer. Always settles: a thread that
 * does not start, or that ends early, gives an answer too. An abort rejects at once, with the signal's reason.
 */
export async function decodeInThread(job: DecodeJob, signal: AbortSignal | undefined): Promise<DecodeAnswer> {
  signal?.throwIfAborted();
  const thread = new DecoderThread(job, signal);
  try {
    const sound = new Parts(job.maxSamples);
    const ready = await thread.answer();
    if (!('part' in ready)) return ready;
    for await (const piece of toEnd(job.pieces)) {
      thread.post(piece);
      const answer = await thread.answer();
      if (!('part' in answer)) return answer;
      const fault = answer.errors[0] ?? sound.add(answer.part);
      if (fault !== undefined) return { broken: fault };
      if (sound.isTooLong) return { tooLong: true };
    }
    return { decoded: sound.joined() };
  } finally {
    thread.end();
  }
}

/** null after the last piece. */
async function* toEnd(pieces: DecodeJob['pieces']): AsyncGenerator<Piece | null, void, void> {
  yield* pieces;
  yield null;
}

/** The decoded parts of a sound. */
class Parts {
  private readonly parts: Float32Array[] = [];
  private length = 0;
  private sampleRate = 0;

  constructor(private readonly most: number) {}

  get isTooLong(): boolean {
    return this.length > this.most;
  }

  /** @returns the fault of a part that does not continue the sound */
  add({ samples, sampleRate }: Decoded): string | undefined {
    if (samples.length === 0) return undefined;
    if (this.length > 0 && sampleRate !== this.sampleRate)
      return `its rate changes from ${this.sampleRate} to ${sampleRate} samples per second`;
    this.sampleRate = sampleRate;
    this.length += samples.length;
    this.parts.push(samples);
    return undefined;
  }

  joined(): Decoded {
    const samples = new Float32Array(this.length);
    let at = 0;
    for (const part of this.parts) {
      samples.set(part, at);
      at += part.length;
    }
    return { samples, sampleRate: this.sampleRate };
  }
}

class DecoderThread {
  private readonly worker: Worker;
  private waiting: { resolve(answer: Answer): void; reject(reason: unknown): void } | undefined;
  /** Answers before they are awaited. */
  private readonly early: Answer[] = [];
  private lost: Answer | undefined;

  constructor(
    { module, decoder, options }: DecodeJob,
    private readonly signal: AbortSignal | undefined,
  ) {
    // The decoders also print their errors to the console: that output is dropped. Flags such as --input-type are only
    // for the main thread.
    this.worker = new Worker(source, {
      eval: true,
      workerData: { module, decoder, options },
      stdout: true,
      stderr: true,
      execArgv: [],
    });
    const lose = (unusable: string) => {
      this.lost ??= { unusable };
      this.take(this.lost);
    };
    this.worker.on('message', (answer: Answer) => this.take(answer));
    this.worker.on('messageerror', (error) => lose(`its answer cannot be read: ${error.message}`));
    this.worker.on('error', (error) => lose(`its thread failed: ${error.message}`));
    this.worker.on('exit', (code) => lose(`its thread ended by itself (exit ${code})`));
    signal?.addEventListener('abort', this.abort);
  }

  post(piece: Piece | null): void {
    this.worker.postMessage(piece);
  }

  /** The next answer. Rejects with the signal's reason. */
  async answer(): Promise<Answer> {
    this.signal?.throwIfAborted();
    const known = this.early.shift() ?? this.lost;
    if (known) return known;
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
    });
  }

  end(): void {
    this.signal?.removeEventListener('abort', this.abort);
    void this.worker.terminate();
  }

  private take(answer: Answer): void {
    if (this.waiting) this.waiting.resolve(answer);
    else if (answer !== this.lost) this.early.push(answer);
    this.waiting = undefined;
  }

  private readonly abort = (): void => this.waiting?.reject(this.signal!.reason);
}
