import type { Hash } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { inCache } from '../cache/cache-fault.js';
import { assertNotAborted, HubError } from '../error.js';
import type { Client } from '../http/client.js';
import { hasherOf } from './hash.js';
import { inOnePiece, inOrder } from './in-order.js';
import { NoRange, Source } from './open-range.js';
import { PartialFile } from './partial-file.js';
import type { Slots } from './slots.js';
import type { WantedFile } from './wanted-file.js';

export interface FetchOptions {
  readonly slots: Slots;
  readonly signal: AbortSignal;
  /** Called with the bytes of the blob at hand. */
  onBytes(bytes: number): void;
}

/**
 * Downloads a blob to `path` by way of `partial`, which a failure leaves for the next attempt. The caller holds the
 * blob's lock. The name `path` appears with the right bytes only.
 * @throws HubError
 */
export async function fetchBlob(
  client: Client,
  file: WantedFile,
  path: string,
  partialPath: string,
  options: FetchOptions,
): Promise<void> {
  const partial = await PartialFile.open(partialPath);
  try {
    if (partial.size > file.size) await partial.empty();
    await new BlobFetch(client, file, partial, options).run();
    await partial.sync();
    await partial.close();
    await inCache(path, () => rename(partialPath, path));
  } finally {
    await partial.close();
  }
}

/** Whole files are asked for at most so often: without ranges, a broken connection costs all of it. */
const maxRestarts = 5;

class BlobFetch {
  #restarts = 0;

  constructor(
    private readonly client: Client,
    private readonly file: WantedFile,
    private readonly partial: PartialFile,
    private readonly options: FetchOptions,
  ) {}

  /** Fills the partial file with the right bytes. */
  async run(): Promise<void> {
    const resumed = this.partial.size > 0;
    if (await this.#complete(true)) return;
    if (resumed) {
      await this.partial.empty(); // the bytes of another time may be the wrong ones
      if (await this.#complete(true)) return;
    }
    await this.partial.remove();
    throw this.#wrongHash();
  }

  /** True: the hash is right. */
  async #complete(ranges: boolean): Promise<boolean> {
    try {
      return await this.#attempt(ranges);
    } catch (error) {
      if (!(error instanceof NoRange)) throw error;
      if (++this.#restarts > maxRestarts) throw this.#noRanges();
      await this.partial.empty();
      return this.#complete(false);
    }
  }

  async #attempt(ranges: boolean): Promise<boolean> {
    const { client, file, partial, options } = this;
    const hash = hasherOf(file.hash, file.size);
    if (hash) await partial.hashInto(hash, () => assertNotAborted(options.signal));
    options.onBytes(partial.size);
    const own = new AbortController();
    const signal = AbortSignal.any([options.signal, own.signal]);
    const source = new Source(client, file);
    const { settings } = client;
    try {
      await this.#write(
        ranges
          ? inOrder(source, settings, partial.size, options.slots, signal)
          : inOnePiece(source, settings, options.slots, signal),
        hash,
      );
    } finally {
      own.abort();
    }
    return hash === undefined || hash.digest('hex') === file.hash;
  }

  async #write(chunks: AsyncIterable<Buffer>, hash: Hash | undefined): Promise<void> {
    for await (const chunk of chunks) {
      await this.partial.append(chunk);
      hash?.update(chunk);
      this.options.onBytes(this.partial.size);
    }
  }

  #wrongHash(): HubError {
    const { path, repository, hash, size } = this.file;
    return new HubError(
      'WRONG_BYTES',
      `${path} of hf:${repository}: the ${size} bytes that came do not have the hash ${hash} of the listing; they are deleted. Pull again; if it stays so, check HF_ENDPOINT and the proxy`,
    );
  }

  #noRanges(): HubError {
    const { path, repository, size } = this.file;
    return new HubError(
      'UNREACHABLE',
      `${path} of hf:${repository}: the server sends whole files only, and the connection broke ${maxRestarts} times before all ${size} bytes had come: use another HF_ENDPOINT`,
    );
  }
}
