import { Worker } from 'node:worker_threads';

/** A decoder's output for a file. */
export interface Decoded {
  /** Per channel; 0 where nothing could be decoded. */
  readonly samplesDecoded: number;
  readonly channelData: readonly Float32Array[];
  readonly sampleRate: number;
  readonly errors: readonly { readonly message: string }[];
}

export interface DecodeJob {
  /** URL of the decoder's module. */
  readonly module: string;
  readonly decoder: string;
  readonly bytes: Uint8Array;
}

/** The result of a job. The message is about the decoder (`unusable`) or about the data (`broken`). */
export type DecodeAnswer =
  | { readonly decoded: Decoded }
  | { readonly unusable: string }
  | { readonly broken: string };

/** The thread's source, as text: a bundle would lose a separate file. */
const source = `
import('node:worker_threads').then(async ({ parentPort, workerData: { module, decoder, bytes } }) => {
  const opened = await import(module).then(async (exports) => {
    const instance = new exports[decoder]();
    await instance.ready;
    return { instance };
  }).catch((error) => ({ unusable: String(error?.message ?? error) }));
  if (!opened.instance) return parentPort.postMessage(opened);
  try {
    const decode = opened.instance.decodeFile ?? opened.instance.decode;
    const { samplesDecoded, channelData, sampleRate, errors } = await decode.call(opened.instance, bytes);
    const messages = errors.map(({ message }) => ({ message: String(message) }));
    parentPort.postMessage({ decoded: { samplesDecoded, channelData, sampleRate, errors: messages } });
  } catch (error) {
    parentPort.postMessage({ broken: String(error?.message ?? error) });
  }
});`;

/**
 * Decodes a file in a thread of its own; the thread ends with the answer. Always settles: a thread that does not start,
 * or that ends early, gives an answer too. An abort rejects at once, with the signal's reason.
 */
export async function decodeInThread(job: DecodeJob, signal: AbortSignal | undefined): Promise<DecodeAnswer> {
  signal?.throwIfAborted();
  // The decoders also print their errors to the console: that output is dropped. Flags such as --input-type are only
  // for the main thread.
  const worker = new Worker(source, {
    eval: true,
    workerData: job,
    stdout: true,
    stderr: true,
    execArgv: [],
  });
  let abort: (() => void) | undefined;
  try {
    return await new Promise<DecodeAnswer>((resolve, reject) => {
      abort = () => reject(signal!.reason);
      signal?.addEventListener('abort', abort);
      worker.on('message', resolve);
      worker.on('messageerror', (error) =>
        resolve({ unusable: `its answer cannot be read: ${error.message}` }),
      );
      worker.on('error', (error) => resolve({ unusable: `its thread failed: ${error.message}` }));
      worker.on('exit', (code) => resolve({ unusable: `its thread ended by itself (exit ${code})` }));
    });
  } finally {
    signal?.removeEventListener('abort', abort!);
    void worker.terminate();
  }
}
