import { HubError } from '../error.js';
import type { Client, Followed } from '../http/client.js';
import { metadataOf } from '../http/metadata.js';
import { fileUrl } from '../repository/file-url.js';
import type { WantedFile } from './wanted-file.js';

/** Thrown where the server sends the whole file instead of a range: it has no ranges, or the file has changed. */
export class NoRange extends Error {}

/** Where the bytes of one file come from. The Hub's storage is asked directly once the Hub has named it. */
export class Source {
  readonly #subject;
  readonly #url: URL;
  /** The signed URL of the storage; it expires. */
  #storage: URL | undefined;

  constructor(
    private readonly client: Client,
    readonly file: WantedFile,
  ) {
    const { repository, commit, path } = file;
    this.#url = fileUrl(client.settings.endpoint, repository, commit, path);
    this.#subject = client.subject(repository, commit, path);
  }

  get subject() {
    return this.#subject;
  }

  /**
   * The answer with bytes [from, to) of the file; its headers have been checked.
   * @throws Passing, NoRange; HubError WRONG_BYTES and those of statuses
   */
  async open(from: number, to: number, signal: AbortSignal): Promise<Followed> {
    const whole = from === 0 && to === this.file.size;
    const headers: Record<string, string> = whole ? {} : { range: `bytes=${from}-${to - 1}` };
    const answer = await this.#ask({ method: 'GET', headers, signal } as const);
    try {
      this.#check(answer, from, to);
    } catch (error) {
      answer.body.destroy();
      throw error;
    }
    return answer;
  }

  async #ask(ask: Parameters<Client['open']>[1]): Promise<Followed> {
    const known = this.#storage;
    if (known !== undefined)
      try {
        return await this.client.open(known, ask, this.#subject);
      } catch (error) {
        if (!isExpired(error)) throw error;
        this.#storage = undefined;
      }
    const answer = await this.client.open(this.#url, ask, this.#subject);
    if (answer.url.origin !== this.#url.origin) this.#storage = answer.url;
    return answer;
  }

  #check(answer: Followed, from: number, to: number): void {
    this.#checkMetadata(answer);
    const { status, headers } = answer;
    if (status === 206) this.#checkRange(headers['content-range'], from, to);
    else if (from > 0) throw new NoRange();
    else this.#checkSize(headers['content-length']);
  }

  /** Size and hash of the answer's headers, where they have any: a file that has changed has another hash. */
  #checkMetadata(answer: Followed): void {
    if (answer.hops.length === 1 && answer.url.origin !== this.#url.origin) return; // the storage has tags of its own
    const { size, hash } = metadataOf(answer);
    if (answer.hops.length > 1 && size !== undefined && size !== this.file.size)
      throw this.#wrong(`${size} bytes`);
    if (hash !== undefined && hash !== this.file.hash && kindOf(hash) === kindOf(this.file.hash))
      throw this.#wrong(`the hash ${hash}`);
  }

  #checkRange(header: string | undefined, from: number, to: number): void {
    const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(header ?? '') ?? [];
    if (total !== undefined && total !== '*' && Number(total) !== this.file.size)
      throw this.#wrong(`${total} bytes`);
    if (Number(first) !== from || Number(last) !== to - 1)
      throw this.#wrong(`the range '${header ?? ''}' for bytes ${from}-${to - 1}`);
  }

  /** A whole file: also for a request of its first part. */
  #checkSize(length: string | undefined): void {
    if (length !== undefined && Number(length) !== this.file.size) throw this.#wrong(`${length} bytes`);
  }

  #wrong(got: string): HubError {
    const { path, repository, size, hash } = this.file;
    return new HubError(
      'WRONG_BYTES',
      `${path} of hf:${repository}: the server offers ${got}, but the listing says ${size} bytes with the hash ${hash}: pull again later; if it stays so, check HF_ENDPOINT`,
    );
  }
}

/** SHA-256, git's SHA-1, or the ETag of a mirror: only values of one kind can be compared. */
const kindOf = (hash: string): number => (/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(hash) ? hash.length : 0);

const isExpired = (error: unknown): boolean =>
  error instanceof HubError &&
  ['FORBIDDEN', 'UNAUTHORIZED', 'GATED', 'NOT_FOUND', 'BAD_ANSWER'].includes(error.code);
