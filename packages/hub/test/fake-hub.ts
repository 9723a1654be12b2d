import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the fake Hub has seen it. */
export interface Seen {
  readonly at: 'api' | 'file' | 'storage';
  readonly method: string;
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
  /** Bytes of the body that were written. */
  sent: number;
}

/** How one request is answered otherwise than well. */
export interface Fault {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The connection ends after this many bytes of the body. */
  readonly cutAfter?: number;
  /** Every byte is changed. */
  readonly wrongBytes?: boolean;
  /** The whole file instead of the range. */
  readonly noRange?: boolean;
  /** Added to each size in headers. */
  readonly lie?: number;
  /** Bytes of a chunk; between two chunks the server waits for the next turn of the event loop. */
  readonly chunk?: number;
  /** Called after each chunk. */
  readonly afterChunk?: (sent: number) => Promise<void> | void;
  /** The headers never come. */
  readonly silent?: boolean;
  /** Instead of the body of the API. */
  readonly body?: string;
}

export interface FakeFile {
  bytes: Buffer;
  /** In LFS: redirected to the storage, named by SHA-256. Default: files above 1000 bytes. */
  readonly lfs?: boolean;
  /** An ETag that is no hash, as of some mirrors. */
  tag?: string;
}

interface Commit {
  readonly sha: string;
  readonly files: ReadonlyMap<string, FakeFile>;
}

const hex = (name: string, ...parts: (Buffer | string)[]): string => {
  const hash = createHash(name);
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};

export const sha256 = (bytes: Buffer): string => hex('sha256', bytes);
export const gitHash = (bytes: Buffer): string => hex('sha1', `blob ${bytes.length}\0`, bytes);

/** Another hash of the same form: it must be taken for no SHA-256. */
const xetHash = (hash: string): string => hash.split('').reverse().join('');

/** Bytes that look random, by a seed. */
export function randomBytes(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed + 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** A server that behaves as the Hub does, with a storage on another port. */
export class FakeHub {
  readonly seen: Seen[] = [];
  /** Asked for each request. */
  fault: (seen: Seen, count: number) => Fault | undefined = () => undefined;
  /** With the headers of Xet beside the redirect. */
  xet = false;
  /** No sizes and hashes in the listing, as some mirrors answer. */
  bareListing = false;
  /** Without it, repositories of this owner answer with 401. */
  readonly token = 'hf_secretTokenOfTheTest';
  readonly #repositories = new Map<string, Map<string, Commit>>();
  readonly #gated = new Set<string>();

  private constructor(
    private readonly hub: Server,
    private readonly storage: Server,
  ) {
    hub.on('request', (request, response) => this.#answer('hub', request, response));
    storage.on('request', (request, response) => this.#answer('storage', request, response));
  }

  static async start(): Promise<FakeHub> {
    const servers = [createServer(), createServer()] as const;
    for (const server of servers)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FakeHub(...servers);
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.hub.address() as AddressInfo).port}`;
  }

  get storageOrigin(): string {
    return `http://127.0.0.1:${(this.storage.address() as AddressInfo).port}`;
  }

  /** A new commit of a repository, on a branch. Returns its sha. */
  commit(repository: string, files: Readonly<Record<string, Buffer | FakeFile>>, branch = 'main'): string {
    const entries = Object.entries(files).map(([path, file]): [string, FakeFile] => [
      path,
      Buffer.isBuffer(file) ? { bytes: file } : file,
    ]);
    const sha = hex('sha1', repository, branch, ...entries.flatMap(([path, { bytes }]) => [path, bytes]));
    const revisions = this.#repositories.get(repository) ?? new Map<string, Commit>();
    const commit = { sha, files: new Map(entries) };
    this.#repositories.set(repository, revisions.set(branch, commit).set(sha, commit));
    return sha;
  }

  /** Files need the token's account to accept terms. */
  gate(repository: string): void {
    this.#gated.add(repository);
  }

  /** Bytes of bodies that the storage has sent. */
  get storageBytes(): number {
    return this.seen.filter(({ at }) => at === 'storage').reduce((sum, { sent }) => sum + sent, 0);
  }

  async stop(): Promise<void> {
    for (const server of [this.hub, this.storage]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  #answer(where: 'hub' | 'storage', request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const at = where === 'storage' ? 'storage' : pathname.startsWith('/api/') ? 'api' : 'file';
    const { range, authorization } = request.headers;
    const seen: Seen = { at, method: request.method ?? '', path: pathname, range, authorization, sent: 0 };
    this.seen.push(seen);
    const fault = this.fault(seen, this.seen.filter((each) => each.at === at).length) ?? {};
    if (fault.silent) return;
    if (fault.status !== undefined) {
      response.writeHead(fault.status, fault.headers).end(fault.body ?? 'no');
      return;
    }
    const exchange = { seen, fault, request, response };
    if (at === 'api') this.#list(exchange);
    else if (at === 'file') void this.#file(exchange);
    else void this.#store(exchange);
  }

  #refusal(repository: string, { seen, request }: Exchange): [number, string] | undefined {
    const isKnown = request.headers.authorization === `Bearer ${this.token}`;
    if (repository.startsWith('private/') && !isKnown) return [401, 'RepoNotFound'];
    if (this.#gated.has(repository) && seen.at === 'file')
      return isKnown ? [403, 'GatedRepo'] : [401, 'GatedRepo'];
    return undefined;
  }

  #find(repository: string, revision: string, exchange: Exchange): Commit | undefined {
    const refused = this.#refusal(repository, exchange);
    const revisions = this.#repositories.get(repository);
    const commit = revisions?.get(revision);
    const [status, code] = refused ?? [404, revisions ? 'RevisionNotFound' : 'RepoNotFound'];
    if (commit && !refused) return commit;
    exchange.response.writeHead(status, { 'x-error-code': code }).end('{"error":"no"}');
    return undefined;
  }

  #list(exchange: Exchange): void {
    const { seen, fault, response } = exchange;
    const [, repository = '', revision = ''] =
      /^\/api\/models\/([^/]+\/[^/]+)\/revision\/(.+)$/.exec(seen.path) ?? [];
    const commit = this.#find(repository, decodeURIComponent(revision), exchange);
    if (!commit) return;
    const siblings = [...commit.files].map(([rfilename, file]) => {
      if (this.bareListing) return { rfilename };
      const size = file.bytes.length + (fault.lie ?? 0);
      const lfs = isLfs(file) ? { lfs: { sha256: sha256(file.bytes), size, pointerSize: 135 } } : {};
      return { rfilename, size, blobId: gitHash(file.bytes), ...lfs };
    });
    response.setHeader('content-type', 'application/json');
    response.end(fault.body ?? JSON.stringify({ id: repository, sha: commit.sha, siblings }));
  }

  async #file(exchange: Exchange): Promise<void> {
    const { seen, fault, response } = exchange;
    const [, repository = '', revision = '', path = ''] =
      /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(seen.path) ?? [];
    const commit = this.#find(repository, decodeURIComponent(revision), exchange);
    if (!commit) return;
    const file = commit.files.get(decodeURIComponent(path));
    if (!file) {
      response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end();
      return;
    }
    response.setHeader('x-repo-commit', commit.sha);
    if (!isLfs(file)) {
      response.setHeader('etag', file.tag ?? `"${gitHash(file.bytes)}"`);
      return send(file.bytes, exchange);
    }
    const hash = sha256(file.bytes);
    response.setHeader('x-linked-etag', `"${hash}"`);
    response.setHeader('x-linked-size', file.bytes.length + (fault.lie ?? 0));
    response.setHeader('etag', '"of-the-redirect"');
    if (this.xet) {
      response.setHeader('x-xet-hash', xetHash(hash));
      response.setHeader(
        'link',
        `<${this.endpoint}/api/models/${repository}/xet-read-token>; rel="xet-auth"`,
      );
    }
    const location = `${this.storageOrigin}/${repository}/${commit.sha}/${path}?X-Amz-Signature=secretSignature`;
    response.writeHead(302, { location }).end();
  }

  async #store(exchange: Exchange): Promise<void> {
    const { seen, response } = exchange;
    const [, repository = '', sha = '', path = ''] =
      /^\/([^/]+\/[^/]+)\/([^/]+)\/(.+)$/.exec(seen.path) ?? [];
    const file = this.#repositories.get(repository)?.get(sha)?.files.get(decodeURIComponent(path));
    if (!file) {
      response.writeHead(404).end();
      return;
    }
    const hash = sha256(file.bytes);
    response.setHeader('etag', this.xet ? `"${xetHash(hash)}"` : `"storage-${hash.slice(0, 8)}"`);
    await send(file.bytes, exchange);
  }
}

interface Exchange {
  readonly seen: Seen;
  readonly fault: Fault;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const isLfs = ({ bytes, lfs }: FakeFile): boolean => lfs ?? bytes.length > 1000;

/** The body or a range of it, as fault and Range say. */
async function send(whole: Buffer, { seen, fault, request, response }: Exchange): Promise<void> {
  const [, from = '', to = ''] = (!fault.noRange && /^bytes=(\d+)-(\d*)$/.exec(seen.range ?? '')) || [];
  const isRange = from !== '';
  const total = whole.length + (fault.lie ?? 0);
  if (isRange && Number(from) >= whole.length) {
    response.writeHead(416, { 'content-range': `bytes */${total}` }).end();
    return;
  }
  const end = isRange && to !== '' ? Math.min(Number(to) + 1, whole.length) : whole.length;
  const part = isRange ? whole.subarray(Number(from), end) : whole;
  const body = fault.wrongBytes ? part.map((byte) => byte ^ 0x55) : part;
  if (isRange) response.setHeader('content-range', `bytes ${from}-${end - 1}/${total}`);
  response.writeHead(isRange ? 206 : 200, { 'content-length': isRange ? part.length : total });
  if (request.method === 'HEAD') response.end();
  else await writeBody(Buffer.from(body), seen, fault, response);
}

async function writeBody(body: Buffer, seen: Seen, fault: Fault, response: ServerResponse): Promise<void> {
  const { chunk = 16_384, cutAfter = Number.POSITIVE_INFINITY } = fault;
  while (seen.sent < body.length && !response.destroyed) {
    const piece = body.subarray(seen.sent, Math.min(seen.sent + chunk, cutAfter));
    if (piece.length > 0) await new Promise<void>((resolve) => response.write(piece, () => resolve()));
    seen.sent += piece.length;
    await fault.afterChunk?.(seen.sent);
    if (seen.sent >= cutAfter) {
      await new Promise((resolve) => setImmediate(resolve)); // what was written is under way
      response.destroy();
      return;
    }
  }
  response.end();
}
