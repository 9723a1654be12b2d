import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Progress } from '@quern/core';
import { pull, resolveModel } from '@quern/hub';
import { type Fault, randomBytes, type Seen, sha256 } from './fake-hub.js';
import { useHub } from './hub-test.js';

const at = useHub();
const name = 'hf:owner/name';
const model = randomBytes(300_000, 1);
const files = { 'name-Q4_K_M.gguf': model };
const blob = () => at.at('owner/name', 'blobs', sha256(model));
const partial = () => `${blob()}.incomplete`;
const storage = (seen: readonly Seen[] = at.hub.seen) => seen.filter((each) => each.at === 'storage');
/** The fault for the first requests to a part of the Hub, then none. */
const first =
  (where: Seen['at'], ...faults: Fault[]) =>
  (seen: Seen, count: number): Fault | undefined =>
    seen.at === where ? faults[count - 1] : undefined;

test('a file of LFS: parts from the storage, into the layout of the cache', async () => {
  const commit = at.hub.commit('owner/name', files);
  const pulled = await pull(name, at.options());
  expect(pulled).toEqual({
    path: at.at('owner/name', 'snapshots', commit, 'name-Q4_K_M.gguf'),
    repository: 'owner/name',
    revision: 'main',
    commit,
    quantisation: 'Q4_K_M',
    files: [{ name: 'name-Q4_K_M.gguf', path: pulled.path, bytes: 300_000 }],
    bytes: 300_000,
  });
  expect(readFileSync(pulled.path).equals(model)).toBe(true);
  expect(readlinkSync(pulled.path)).toBe(join('..', '..', 'blobs', sha256(model)));
  expect(readFileSync(at.at('owner/name', 'refs', 'main'), 'utf8')).toBe(commit);
  expect(at.names(at.at('owner/name', 'blobs'))).toEqual([sha256(model)]);
  expect(at.names(join(at.cacheDir, '.locks', 'models--owner--name'))).toEqual([]);
  expect(new Set(storage().map(({ range }) => range))).toEqual(
    new Set([0, 1, 2, 3, 4, 5].map((i) => `bytes=${50_000 * i}-${50_000 * (i + 1) - 1}`)),
  );
  expect(at.hub.seen.filter((each) => each.at === 'file')).toHaveLength(1); // the storage's URL is kept
  expect(at.hub.storageBytes).toBe(300_000);
});

test('an error that onProgress throws ends the call', async () => {
  at.hub.commit('owner/name', files);
  const error = new Error('mine');
  const onProgress = () => {
    throw error;
  };
  await expect(pull(name, at.options({ onProgress }))).rejects.toBe(error);
  expect(at.names(join(at.cacheDir, '.locks', 'models--owner--name'))).toEqual([]);
});

test('long pauses are noticed', async () => {
  at.hub.commit('owner/name', files);
  const [notices, controller] = [[] as string[], new AbortController()];
  const onNotice = (text: string) => {
    notices.push(text);
    controller.abort();
  };
  at.hub.fault = () => ({ status: 429, headers: { 'retry-after': '120' } });
  const call = pull(name, at.options({ onNotice, signal: controller.signal }));
  await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
  expect(notices).toEqual([
    expect.stringMatching(/status 429: too many requests.* The next attempt is in 120 s$/),
  ]);
});

test('what is in the cache needs no request; pull asks which commit is current', async () => {
  at.hub.commit('owner/name', files);
  const pulled = await pull(name, at.options());
  const before = at.hub.seen.length;
  expect(await resolveModel(name, at.options())).toEqual(pulled);
  expect(await resolveModel(`${name}:q4_k_m`, at.options({ offline: true }))).toEqual(pulled);
  expect(at.hub.seen).toHaveLength(before);
  expect(await pull(name, at.options())).toEqual(pulled);
  expect(at.hub.seen.slice(before).map((each) => each.at)).toEqual(['api']);
});

test('small and empty files come from the Hub itself, with git’s hash', async () => {
  const weights = randomBytes(5000, 2);
  at.hub.commit('owner/name', {
    'config.json': Buffer.from('{"model_type": "llama"}'),
    'model.safetensors': weights,
    'vocab.json': Buffer.alloc(0),
    'README.md': Buffer.from('no'),
  });
  const pulled = await pull(name, at.options());
  expect(pulled.files.map((file) => file.name)).toEqual(['config.json', 'model.safetensors', 'vocab.json']);
  expect(readFileSync(join(pulled.path, 'config.json'), 'utf8')).toBe('{"model_type": "llama"}');
  expect(readFileSync(join(pulled.path, 'vocab.json'))).toHaveLength(0);
  expect(pulled).not.toHaveProperty('quantisation');
});

test('splits and projector in folders', async () => {
  const parts = [1, 2, 3].map((i) => randomBytes(20_000 + i, i));
  at.hub.commit('owner/name', {
    ...Object.fromEntries(parts.map((bytes, i) => [`Q8_0/m-Q8_0-0000${i + 1}-of-00003.gguf`, bytes])),
    'mmproj-F16.gguf': randomBytes(3000, 9),
  });
  const pulled = await pull(name, at.options({ partBytes: 7000 }));
  expect(pulled.files).toHaveLength(4);
  for (const [i, bytes] of parts.entries())
    expect(readFileSync(join(dirname(pulled.path), `m-Q8_0-0000${i + 1}-of-00003.gguf`)).equals(bytes)).toBe(
      true,
    );
  expect(pulled.mmproj).toBe(join(dirname(dirname(pulled.path)), 'mmproj-F16.gguf'));
});

test('Xet: the same bytes over plain HTTP', async () => {
  at.hub.xet = true;
  at.hub.commit('owner/name', files);
  expect(readFileSync((await pull(name, at.options())).path).equals(model)).toBe(true);
});

test('a mirror whose listing has no sizes and hashes: one HEAD per file', async () => {
  at.hub.bareListing = true;
  at.hub.commit('owner/name', files);
  expect(readFileSync((await pull(name, at.options())).path).equals(model)).toBe(true);
  expect(existsSync(blob())).toBe(true);
  expect(at.hub.seen.filter(({ method }) => method === 'HEAD').map((each) => each.at)).toEqual(['file']);
});

test('a mirror with ETags of its own: size and ETag are checked', async () => {
  at.hub.bareListing = true;
  const file = { bytes: model, lfs: false, tag: '"tag-1"' };
  at.hub.commit('owner/name', { 'm-Q8_0.gguf': file });
  at.hub.fault = ({ range }) => {
    if (!range?.startsWith('bytes=150000-')) return undefined;
    Object.assign(file, { bytes: randomBytes(300_000, 2), tag: 'W/"tag-2"' }); // the file changes under way
    return undefined;
  };
  await expect(pull(name, at.options({ connections: 1 }))).rejects.toMatchObject({
    code: 'WRONG_BYTES',
    message: expect.stringContaining('the server offers the hash tag-2'),
  });
  expect(at.names(at.at('owner/name', 'blobs'))).toEqual(['tag-1.incomplete']);
  at.hub.fault = () => undefined;
  expect(readFileSync((await pull(name, at.options())).path).equals(file.bytes)).toBe(true);
});

test('progress: bytes, files, total', async () => {
  at.hub.commit('owner/name', files);
  const seen: Progress<'download'>[] = [];
  await pull(name, at.options({ onProgress: (progress) => seen.push(progress) }));
  expect(seen[0]).toEqual({ phase: 'download', done: 0, total: 300_000, finishedFiles: 0, files: 1 });
  expect(seen.at(-1)).toEqual({
    phase: 'download',
    done: 300_000,
    total: 300_000,
    finishedFiles: 1,
    files: 1,
  });
  const bytes = seen.map(({ done }) => done);
  expect(bytes).toEqual([...bytes].sort((a, b) => a - b));
});

/** A generator of whole numbers below `most`, by a seed. */
function drawing(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

test('interrupted at 20 random points: the right bytes, and few of them twice', async () => {
  const [size, partBytes, connections] = [2_000_000, 10_000, 4];
  const large = randomBytes(size, 3);
  at.hub.commit('owner/name', { 'm-Q8_0.gguf': large });
  const draw = drawing(20);
  const points = Array.from({ length: 20 }, () => draw(size)).sort((a, b) => a - b);
  const incomplete = `${at.at('owner/name', 'blobs', sha256(large))}.incomplete`;
  for (const point of points) {
    const before = existsSync(incomplete) ? statSync(incomplete).size : 0;
    const seen = at.hub.seen.length;
    const controller = new AbortController();
    const onProgress = ({ done }: Progress) => {
      if (done >= point) controller.abort(new Error('the test'));
    };
    await expect(
      pull(name, at.options({ partBytes, connections, onProgress, signal: controller.signal })),
    ).rejects.toMatchObject({ code: 'ABORTED', name: 'AbortError' });
    const [resumed] = storage(at.hub.seen.slice(seen));
    if (resumed) expect(resumed.range).toMatch(new RegExp(`^bytes=${before}-`));
    expect(at.names(at.at('owner/name', 'blobs'))).toEqual([`${sha256(large)}.incomplete`]);
    expect(large.subarray(0, statSync(incomplete).size).equals(readFileSync(incomplete))).toBe(true);
    expect(existsSync(at.at('owner/name', 'snapshots'))).toBe(false);
  }
  const pulled = await pull(name, at.options({ partBytes, connections }));
  expect(readFileSync(pulled.path).equals(large)).toBe(true);
  expect(at.hub.storageBytes).toBeLessThanOrEqual(size + points.length * (connections + 1) * partBytes);
});

test('cut connections: each goes on where it broke', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = (seen, count) =>
    seen.at === 'storage' && count <= 12 ? { cutAfter: 9000 + count, chunk: 3000 } : undefined;
  const pulled = await pull(name, at.options({ attempts: 4 }));
  expect(readFileSync(pulled.path).equals(model)).toBe(true);
  expect(storage().length).toBeGreaterThan(12);
  expect(at.hub.storageBytes).toBeLessThan(600_000);
});

test('connections that break at every attempt: the error, and the bytes stay', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = ({ at: where }) => (where === 'storage' ? { cutAfter: 0 } : undefined);
  await expect(pull(name, at.options({ attempts: 3 }))).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.stringMatching(
      /name-Q4_K_M\.gguf of hf:owner\/name: 127\.0\.0\.1:\d+ cannot be reached.*a further pull resumes/,
    ),
  });
  expect(storage()).toHaveLength(3);
  expect(existsSync(blob())).toBe(false);
});

test('nobody listens', async () => {
  await expect(pull(name, at.options({ endpoint: 'http://127.0.0.1:9', attempts: 2 }))).rejects.toMatchObject(
    {
      code: 'UNREACHABLE',
      message: expect.stringContaining('check the network, the proxy (HTTPS_PROXY) and HF_ENDPOINT'),
    },
  );
});

test('a server that falls silent counts as broken', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = first('storage', { silent: true });
  const pulled = await pull(name, at.options({ idleTimeoutMs: 700 }));
  expect(readFileSync(pulled.path).equals(model)).toBe(true);
});

test('a server that falls silent in the middle counts as broken', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = first('storage', { afterChunk: () => new Promise(() => {}) });
  const pulled = await pull(name, at.options({ idleTimeoutMs: 700 }));
  expect(readFileSync(pulled.path).equals(model)).toBe(true);
});

test('slow bytes are no fault', async () => {
  at.hub.commit('owner/name', { 'm-Q8_0.gguf': randomBytes(3000, 4) });
  at.hub.fault = ({ at: where }) =>
    where === 'storage'
      ? { chunk: 100, afterChunk: () => new Promise((resolve) => setTimeout(resolve, 2)) }
      : undefined;
  await pull(name, at.options({ attempts: 1 }));
  expect(storage()).toHaveLength(1);
});

test.each([429, 500, 502, 503, 504, 408])('status %d is tried again', async (status) => {
  at.hub.commit('owner/name', files);
  at.hub.fault = (_, count) => (count <= 2 ? { status, headers: { 'retry-after': '0' } } : undefined);
  await pull(name, at.options());
  expect(at.hub.seen.filter((each) => each.at === 'api')).toHaveLength(3);
  expect(storage().length).toBeGreaterThanOrEqual(8);
});

test('status 429 at every attempt; a Retry-After beyond five minutes is not waited for', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = () => ({ status: 429 });
  await expect(pull(name, at.options({ attempts: 4 }))).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    message: expect.stringContaining('give a token (HF_TOKEN)'),
  });
  expect(at.hub.seen).toHaveLength(4);
  at.hub.fault = () => ({ status: 429, headers: { 'retry-after': '3600' } });
  await expect(pull(name, at.options())).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  expect(at.hub.seen).toHaveLength(5);
});

test.each<[number, string, string | undefined, string, RegExp]>([
  [401, 'UNAUTHORIZED', undefined, 'RepoNotFound', /does not exist, or it is private.*set HF_TOKEN/],
  [401, 'UNAUTHORIZED', 'hf_x', 'RepoNotFound', /the token \(HF_TOKEN\) is wrong, expired/],
  [401, 'GATED', undefined, 'GatedRepo', /accept its terms at http:\S+\/owner\/name, then set HF_TOKEN/],
  [
    403,
    'GATED',
    'hf_x',
    'GatedRepo',
    /accept its terms at http:\S+\/owner\/name; the token's account has no access yet/,
  ],
  [403, 'FORBIDDEN', 'hf_x', '', /a fine-grained token needs the right/],
  [404, 'NOT_FOUND', undefined, 'RepoNotFound', /there is no such repository; search at http:\S+\/models/],
  [404, 'NOT_FOUND', undefined, 'RevisionNotFound', /no revision 'main'/],
  [418, 'BAD_ANSWER', undefined, '', /which no Hub does: check HF_ENDPOINT/],
])('status %d of the listing is %s (token: %s, %s), at once', async (status, code, token, kind, message) => {
  at.hub.commit('owner/name', files);
  at.hub.fault = () => ({ status, headers: { 'x-error-code': kind } });
  await expect(pull(name, at.options(token === undefined ? {} : { token }))).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  });
  expect(at.hub.seen).toHaveLength(1);
});

test('a gated repository lists its files, and refuses them', async () => {
  at.hub.commit('owner/name', files);
  at.hub.gate('owner/name');
  await expect(pull(name, at.options())).rejects.toMatchObject({ code: 'GATED' });
  await expect(pull(name, at.options({ token: at.hub.token }))).rejects.toMatchObject({ code: 'GATED' });
  expect(at.hub.seen.filter((each) => each.at === 'file')).toHaveLength(2);
});

test('the token goes to the endpoint alone, and into no message', async () => {
  const { token } = at.hub;
  at.hub.commit('private/name', files);
  await expect(pull('hf:private/name', at.options())).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  const pulled = await pull('hf:private/name', at.options({ token }));
  expect(readFileSync(pulled.path).equals(model)).toBe(true);
  for (const { at: where, authorization } of at.hub.seen.slice(1))
    expect(authorization).toBe(where === 'storage' ? undefined : `Bearer ${token}`);
  for (const status of [400, 401, 403, 404, 416, 429, 500]) {
    at.hub.fault = () => ({ status });
    const error: Error = await pull('hf:private/name', at.options({ token, attempts: 1 })).catch(
      (reason) => reason,
    );
    expect(error.message).not.toContain(token);
    at.hub.fault = ({ at: where }) => (where === 'storage' ? { status } : undefined);
    at.hub.commit('private/name', { 'm-Q8_0.gguf': randomBytes(2000, status) });
    const second: Error = await pull('hf:private/name', at.options({ token, attempts: 1 })).catch(
      (reason) => reason,
    );
    expect(second.message).toMatch(/status/);
    expect(second.message).not.toMatch(/secret|Signature/);
  }
});

test('an expired URL of the storage: the Hub gives another', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = (seen, count) => (seen.at === 'storage' && count === 3 ? { status: 403 } : undefined);
  const pulled = await pull(name, at.options({ connections: 1 }));
  expect(readFileSync(pulled.path).equals(model)).toBe(true);
  expect(at.hub.seen.filter((each) => each.at === 'file')).toHaveLength(2);
});

test('wrong bytes: nothing is left of them', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = ({ at: where }) => (where === 'storage' ? { wrongBytes: true } : undefined);
  await expect(pull(name, at.options())).rejects.toMatchObject({
    code: 'WRONG_BYTES',
    message: expect.stringContaining(`do not have the hash ${sha256(model)}`),
  });
  expect(at.names(at.at('owner/name', 'blobs'))).toEqual([]);
  expect(existsSync(at.at('owner/name', 'snapshots'))).toBe(false);
  expect(storage()).toHaveLength(6);
});

test('wrong bytes of an earlier time: the file begins anew', async () => {
  at.hub.commit('owner/name', files);
  mkdirSync(dirname(partial()), { recursive: true });
  writeFileSync(partial(), randomBytes(120_000, 77));
  const pulled = await pull(name, at.options());
  expect(readFileSync(pulled.path).equals(model)).toBe(true);
  expect(storage()[0]!.range).toMatch(/^bytes=120000-/);
  expect(at.hub.storageBytes).toBe(180_000 + 300_000);
});

test('right bytes of another tool: it goes on after them', async () => {
  at.hub.commit('owner/name', files);
  mkdirSync(dirname(partial()), { recursive: true });
  writeFileSync(partial(), model.subarray(0, 120_000));
  expect(readFileSync((await pull(name, at.options())).path).equals(model)).toBe(true);
  expect(at.hub.storageBytes).toBe(180_000);
});

test('more bytes than the file has: they are dropped', async () => {
  at.hub.commit('owner/name', files);
  mkdirSync(dirname(partial()), { recursive: true });
  writeFileSync(partial(), randomBytes(400_000, 5));
  expect(readFileSync((await pull(name, at.options())).path).equals(model)).toBe(true);
});

test.each<[string, (seen: Seen) => Fault | undefined]>([
  ['the listing', (seen) => (seen.at === 'api' ? { lie: 5000 } : undefined)],
  ['x-linked-size', (seen) => (seen.at === 'file' ? { lie: 5000 } : undefined)],
  ['content-range', (seen) => (seen.at === 'storage' ? { lie: 5000 } : undefined)],
  ['the listing, shorter', (seen) => (seen.at === 'api' ? { lie: -5000 } : undefined)],
])('a size that is a lie: %s', async (_, fault) => {
  at.hub.commit('owner/name', files);
  at.hub.fault = fault;
  await expect(pull(name, at.options())).rejects.toMatchObject({
    code: 'WRONG_BYTES',
    message: expect.stringMatching(/the server offers \d+ bytes, but the listing says \d+ bytes/),
  });
  expect(existsSync(blob())).toBe(false);
});

test('status 416: the file is shorter than its listing says', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = ({ at: where }) =>
    where === 'storage' ? { status: 416, headers: { 'content-range': 'bytes */1000' } } : undefined;
  await expect(pull(name, at.options())).rejects.toMatchObject({
    code: 'WRONG_BYTES',
    message: expect.stringContaining('bytes */1000'),
  });
  expect(storage()).toHaveLength(1);
});

test('a server without ranges: in one piece', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = ({ at: where }) => (where === 'storage' ? { noRange: true } : undefined);
  expect(readFileSync((await pull(name, at.options())).path).equals(model)).toBe(true);
  const ranges = storage().map(({ range }) => range);
  expect(ranges.at(-1)).toBeUndefined();
});

test('without ranges, a broken connection begins anew, a few times', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = (seen, count) =>
    seen.at === 'storage' ? { noRange: true, ...(count <= 4 && { cutAfter: 100_000 }) } : undefined;
  expect(readFileSync((await pull(name, at.options())).path).equals(model)).toBe(true);
  at.hub.commit('owner/name', { 'm-Q8_0.gguf': randomBytes(200_000, 6) });
  at.hub.fault = (seen) => (seen.at === 'storage' ? { noRange: true, cutAfter: 100_000 } : undefined);
  await expect(pull(name, at.options())).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.stringContaining('the server sends whole files only'),
  });
});

test('a repository that changes between two attempts: the new file, from its first byte', async () => {
  at.hub.commit('owner/name', files);
  at.hub.fault = ({ at: where }) => (where === 'storage' ? { cutAfter: 20_000 } : undefined);
  await expect(pull(name, at.options({ attempts: 1, connections: 1 }))).rejects.toMatchObject({
    code: 'UNREACHABLE',
  });
  expect(statSync(partial()).size).toBeGreaterThan(0);
  const other = randomBytes(250_000, 8);
  at.hub.commit('owner/name', { 'name-Q4_K_M.gguf': other });
  at.hub.fault = () => undefined;
  const seen = at.hub.seen.length;
  expect(readFileSync((await pull(name, at.options())).path).equals(other)).toBe(true);
  expect(storage(at.hub.seen.slice(seen))[0]!.range).toMatch(/^bytes=0-/);
});

test('a new commit with the same file: its bytes are not fetched again', async () => {
  const [first1, second] = [
    at.hub.commit('owner/name', files),
    at.hub.commit('owner/name', { ...files, 'README.md': Buffer.from('new') }, 'dev'),
  ];
  await pull(name, at.options());
  const before = at.hub.storageBytes;
  const pulled = await pull(name, at.options({ revision: 'dev' }));
  expect([pulled.commit, at.hub.storageBytes]).toEqual([second, before]);
  expect((await pull(`${name}@${first1}`, at.options())).commit).toBe(first1);
  expect(at.names(at.at('owner/name', 'refs'))).toEqual(['dev', 'main']);
  await expect(pull(`${name}@dev`, at.options({ revision: 'main' }))).rejects.toMatchObject({
    code: 'BAD_OPTION',
  });
});

test.each([
  ['no JSON', '<html>', /answers with no JSON/],
  ['no object', '[]', /has no commit|is no object/],
  ['no commit', '{"siblings": []}', /has no commit/],
  ['a commit that leaves the cache', '{"sha": "../../x", "siblings": []}', /has no commit/],
  ['no files', `{"sha": "${'a'.repeat(40)}"}`, /has no files/],
])('a listing with %s', async (_, body, message) => {
  at.hub.commit('owner/name', files);
  at.hub.fault = first('api', { body });
  await expect(pull(name, at.options())).rejects.toMatchObject({
    code: 'BAD_ANSWER',
    message: expect.stringMatching(message),
  });
});

test.each([
  '../../../evil-Q8_0.gguf',
  '/etc/evil-Q8_0.gguf',
  'a/../b-Q8_0.gguf',
  'C:\\evil-Q8_0.gguf',
  'nul/x-Q8_0.gguf',
  'x\0-Q8_0.gguf',
])('a listing with the path %j: nothing is written', async (path) => {
  const commit = at.hub.commit('owner/name', {});
  const siblings = [{ rfilename: path, size: 5, lfs: { sha256: 'a'.repeat(64) } }];
  at.hub.fault = first('api', { body: JSON.stringify({ sha: commit, siblings }) });
  await expect(pull(name, at.options())).rejects.toMatchObject({ code: 'BAD_ANSWER' });
  expect(at.names(at.cacheDir)).toEqual([]);
});

test('hashes that would leave the blobs are not taken from a server', async () => {
  const commit = at.hub.commit('owner/name', files);
  const siblings = [{ rfilename: 'name-Q4_K_M.gguf', size: 300_000, lfs: { sha256: '../../../x' } }];
  at.hub.fault = first('api', { body: JSON.stringify({ sha: commit, siblings }) });
  await pull(name, at.options()); // asks for the headers instead
  expect(at.names(at.at('owner/name', 'blobs'))).toEqual([sha256(model)]);
});

test('redirects: relative ones keep the token, endless ones end', async () => {
  const { token } = at.hub;
  at.hub.commit('private/new', files);
  at.hub.fault = (seen) =>
    seen.path.includes('/private/old')
      ? { status: 307, headers: { location: seen.path.replace('/private/old', '/private/new') } }
      : undefined;
  const pulled = await pull('hf:private/old', at.options({ token }));
  expect(readFileSync(pulled.path).equals(model)).toBe(true);
  at.hub.fault = (seen) => ({ status: 302, headers: { location: seen.path } });
  await expect(pull(name, at.options())).rejects.toMatchObject({
    code: 'BAD_ANSWER',
    message: expect.stringContaining('redirects more than 6 times'),
  });
  at.hub.fault = () => ({ status: 302, headers: { location: 'file:///etc/passwd' } });
  await expect(pull(name, at.options())).rejects.toMatchObject({ code: 'BAD_ANSWER' });
});

test('offline: only the cache; the message has the command', async () => {
  at.hub.commit('owner/name', files);
  const wanted = {
    code: 'NOT_CACHED',
    message: expect.stringContaining('run quern pull hf:owner/name:Q8_0 while online'),
  };
  for (const more of [{ offline: true }, { env: { HF_HUB_OFFLINE: '1' } }])
    await expect(resolveModel(`${name}:Q8_0`, at.options(more))).rejects.toMatchObject(wanted);
  await expect(pull(name, at.options({ offline: true }))).rejects.toMatchObject({ code: 'NOT_CACHED' });
  expect(at.hub.seen).toEqual([]);
  await pull(name, at.options());
  await expect(resolveModel(`${name}:Q8_0`, at.options({ offline: true }))).rejects.toMatchObject({
    ...wanted,
    message: expect.stringContaining('it has Q4_K_M'),
  });
});

test('aborted before it starts', async () => {
  await expect(pull(name, at.options({ signal: AbortSignal.abort() }))).rejects.toMatchObject({
    code: 'ABORTED',
  });
  await expect(resolveModel(name, at.options({ signal: AbortSignal.abort() }))).rejects.toMatchObject({
    code: 'ABORTED',
  });
  expect(at.hub.seen).toEqual([]);
});

test('wrong options', async () => {
  await expect(pull(name, at.options({ connections: 0 }))).rejects.toMatchObject({ code: 'BAD_OPTION' });
  await expect(pull(name, { ...at.options(), colour: 1 } as object)).rejects.toMatchObject({
    code: 'BAD_OPTION',
  });
  expect(lstatSync(at.cacheDir).isDirectory()).toBe(true);
});
