import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { copyFile, link, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inspectCache, list, pull, remove, resolveModel } from '@quern/hub';
import { placeFile } from '../src/cache/place-file.js';
import { randomBytes, sha256 } from './fake-hub.js';
import { useHub } from './hub-test.js';

const at = useHub();
const model = randomBytes(30_000, 1);
const commit = 'c0ffee'.padEnd(40, '0');

interface Written {
  readonly repository?: string;
  readonly ref?: string;
  readonly sha?: string;
  readonly files: Readonly<Record<string, Buffer>>;
  /** As on Windows without links: the bytes lie in the snapshot, and there are no blobs. */
  readonly withoutLinks?: boolean;
}

/**
 * Writes a repository into the cache as Python's huggingface_hub does (its guide "Understand caching"):
 * blobs/ETAG, refs/REVISION with a commit, snapshots/COMMIT/PATH as a relative link to the blob.
 */
function writeAsPython({
  repository = 'owner/name',
  ref = 'main',
  sha = commit,
  files,
  withoutLinks,
}: Written): void {
  for (const folder of ['blobs', 'refs', '.no_exist'])
    mkdirSync(at.at(repository, folder), { recursive: true });
  mkdirSync(dirname(at.at(repository, 'refs', ref)), { recursive: true });
  writeFileSync(at.at(repository, 'refs', ref), sha);
  for (const [path, bytes] of Object.entries(files)) {
    const place = at.at(repository, 'snapshots', sha, path);
    mkdirSync(dirname(place), { recursive: true });
    if (withoutLinks) writeFileSync(place, bytes);
    else {
      writeFileSync(at.at(repository, 'blobs', sha256(bytes)), bytes);
      symlinkSync(join('../'.repeat(2 + path.split('/').length - 1), 'blobs', sha256(bytes)), place);
    }
  }
}

const offline = () => at.options({ offline: true });
const cache = () => ({ cacheDir: at.cacheDir });

describe('files of Python’s huggingface_hub', () => {
  test.each([false, true])('are found (without links: %s)', async (withoutLinks) => {
    writeAsPython({ files: { 'sub/m-Q4_K_M.gguf': model }, withoutLinks });
    const found = await resolveModel('hf:owner/name', offline());
    expect(found).toMatchObject({ commit, quantisation: 'Q4_K_M', bytes: 30_000 });
    expect(readFileSync(found.path).equals(model)).toBe(true);
  });

  test.each(['v1', 'refs/pr/3'])('by the revision %s, and by the commit', async (ref) => {
    writeAsPython({ ref, files: { 'm-Q4_K_M.gguf': model } });
    expect((await resolveModel(`hf:owner/name@${ref}`, offline())).commit).toBe(commit);
    expect((await resolveModel(`hf:owner/name@${commit}`, offline())).revision).toBe(commit);
    await expect(resolveModel('hf:owner/name', offline())).rejects.toMatchObject({ code: 'NOT_CACHED' });
  });

  test.each([false, true])('are not fetched again (without links: %s)', async (withoutLinks) => {
    const sha = at.hub.commit('owner/name', { 'm-Q4_K_M.gguf': model });
    writeAsPython({ sha, files: { 'm-Q4_K_M.gguf': model }, withoutLinks });
    expect((await pull('hf:owner/name', at.options())).commit).toBe(sha);
    expect(at.hub.storageBytes).toBe(0);
  });

  test('a link whose blob is missing is no file', async () => {
    writeAsPython({ files: { 'm-Q4_K_M.gguf': model, 'm-Q8_0.gguf': randomBytes(100, 2) } });
    const [blob] = readdirSync(at.at('owner/name', 'blobs')).filter((each) => each === sha256(model));
    unlinkSync(at.at('owner/name', 'blobs', blob!));
    expect((await resolveModel('hf:owner/name', offline())).quantisation).toBe('Q8_0');
  });

  test('sharded safetensors without one of their files are not whole', async () => {
    const index = {
      weight_map: { a: 'model-00001-of-00002.safetensors', b: 'model-00002-of-00002.safetensors' },
    };
    const files = {
      'config.json': Buffer.from('{}'),
      'model.safetensors.index.json': Buffer.from(JSON.stringify(index)),
      'model-00001-of-00002.safetensors': model,
    };
    writeAsPython({ files });
    await expect(resolveModel('hf:owner/name', offline())).rejects.toMatchObject({
      message: expect.stringContaining('it lacks model-00002-of-00002.safetensors'),
    });
    writeAsPython({ files: { 'model-00002-of-00002.safetensors': randomBytes(50, 3) } });
    expect((await resolveModel('hf:owner/name', offline())).path).toBe(
      at.at('owner/name', 'snapshots', commit),
    );
  });
});

test('the layout that Python’s tools read: blob, relative link, ref', async () => {
  const sha = at.hub.commit('owner/name', { 'a/b/m-Q4_K_M.gguf': model });
  await pull('hf:owner/name@main', at.options());
  const place = at.at('owner/name', 'snapshots', sha, 'a/b/m-Q4_K_M.gguf');
  expect(lstatSync(place).isSymbolicLink()).toBe(true);
  expect(readFileSync(at.at('owner/name', 'refs/main'), 'utf8')).toBe(sha);
  expect(at.names(at.at('owner/name'))).toEqual(['blobs', 'refs', 'snapshots']);
  expect(at.names(at.at('owner/name', 'snapshots', sha, 'a/b'))).toEqual(['m-Q4_K_M.gguf']);
});

test('where links are refused: hard links, else copies', async () => {
  const blob = join(at.cacheDir, 'blob');
  writeFileSync(blob, model);
  const refuse = () => Promise.reject(Object.assign(new Error('no'), { code: 'EPERM' }));
  const place = (n: number) => join(at.cacheDir, 'snapshots', `${n}`);
  await placeFile(blob, place(0), { symlink: refuse, link, copyFile });
  await placeFile(blob, place(1), { symlink: refuse, link: refuse, copyFile });
  expect(lstatSync(place(0)).ino).toBe(lstatSync(blob).ino);
  expect(lstatSync(place(1)).ino).not.toBe(lstatSync(blob).ino);
  expect(readFileSync(place(1)).equals(model)).toBe(true);
  await placeFile(blob, place(1), { symlink, link, copyFile }); // takes the place of what is there
  expect(lstatSync(place(1)).isSymbolicLink()).toBe(true);
  expect(at.names(join(at.cacheDir, 'snapshots'))).toEqual(['0', '1']);
});

describe('list', () => {
  test('names, quantisations, bytes, revisions, last use', async () => {
    const [used, older] = [new Date('2026-05-04T03:02:01Z'), new Date('2026-01-01T00:00:00Z')];
    writeAsPython({
      files: {
        'm-Q4_K_M.gguf': model,
        's-Q8_0-00001-of-00002.gguf': randomBytes(10, 2),
        's-Q8_0-00002-of-00002.gguf': randomBytes(20, 3),
        'half-F16-00001-of-00002.gguf': randomBytes(30, 4),
        'mmproj-F16.gguf': randomBytes(5, 5),
      },
    });
    const safetensors = { 'config.json': Buffer.from('{}'), 'model.safetensors': randomBytes(100, 6) };
    writeAsPython({ repository: 'Other/folder.x', ref: 'v2', sha: 'd'.repeat(40), files: safetensors });
    for (const folder of ['datasets--a--b', 'models--gpt2', 'version.txt'])
      mkdirSync(join(at.cacheDir, folder));
    utimesSync(at.at('owner/name', 'blobs', sha256(model)), used, older);
    const models = await list(cache());
    expect(models.map(({ name, bytes }) => [name, bytes])).toEqual([
      ['hf:Other/folder.x@v2', 102],
      ['hf:owner/name:Q4_K_M', 30_005],
      ['hf:owner/name:Q8_0', 35],
    ]);
    expect(models[0]).toMatchObject({
      path: at.at('Other/folder.x', 'snapshots', 'd'.repeat(40)),
      revision: 'v2',
    });
    expect(models[1]).toMatchObject({ lastUsed: used, quantisation: 'Q4_K_M', repository: 'owner/name' });
    for (const { name, path } of models) expect((await resolveModel(name, offline())).path).toBe(path);
  });

  test('a snapshot without a revision has its commit, models of equal quantisation their paths', async () => {
    writeAsPython({ files: { 'a-Q8_0.gguf': model, 'b-Q8_0.gguf': randomBytes(9, 1) } });
    writeAsPython({ sha: 'e'.repeat(40), files: { 'c-F16.gguf': model } });
    expect((await list(cache())).map(({ name }) => name)).toEqual([
      `hf:owner/name@${commit}:a-Q8_0.gguf`,
      `hf:owner/name@${commit}:b-Q8_0.gguf`,
      'hf:owner/name:F16',
    ]);
  });

  test('no cache', async () => {
    expect(await list({ cacheDir: join(at.cacheDir, 'none') })).toEqual([]);
  });
});

describe('remove', () => {
  const [small, shared] = [randomBytes(700, 5), randomBytes(900, 6)];
  const blobs = () => at.names(at.at('owner/name', 'blobs'));

  test('one quantisation; the projector goes with the last', async () => {
    writeAsPython({ files: { 'm-Q4_K_M.gguf': model, 'm-Q8_0.gguf': small, 'mmproj.gguf': shared } });
    const [planned, before] = [await remove('hf:owner/name:Q8_0', { ...cache(), dryRun: true }), blobs()];
    expect([planned, before.length]).toEqual([{ files: ['m-Q8_0.gguf'], bytes: 700 }, 3]);
    expect(await remove('hf:owner/name:Q8_0', cache())).toEqual(planned);
    expect(blobs()).toEqual([sha256(model), sha256(shared)].sort());
    expect(await remove('hf:owner/name:Q4_K_M', cache())).toMatchObject({ bytes: 30_900 });
    expect(at.names(at.cacheDir)).toEqual([]);
  });

  test('a revision: blobs that another one uses stay', async () => {
    writeAsPython({ files: { 'm-Q4_K_M.gguf': model, 'sub/m-Q8_0.gguf': shared } });
    writeAsPython({
      ref: 'v2',
      sha: 'd'.repeat(40),
      files: { 'm-Q4_K_M.gguf': small, 'sub/m-Q8_0.gguf': shared },
    });
    const removed = await remove('hf:owner/name@v2', cache());
    expect(removed).toEqual({ files: ['m-Q4_K_M.gguf', 'sub/m-Q8_0.gguf'], bytes: 700 });
    expect(blobs()).toEqual([sha256(model), sha256(shared)].sort());
    expect(at.names(at.at('owner/name', 'snapshots'))).toEqual([commit]);
    expect(at.names(at.at('owner/name', 'refs'))).toEqual(['main']);
    expect((await resolveModel('hf:owner/name:Q8_0', offline())).bytes).toBe(900);
  });

  test('a repository with all that belongs to it, partial downloads too', async () => {
    writeAsPython({ files: { 'm-Q4_K_M.gguf': model } });
    writeAsPython({ repository: 'owner/other', files: { 'm-Q4_K_M.gguf': model } });
    writeFileSync(at.at('owner/name', 'blobs', 'x.incomplete'), 'x');
    await remove('hf:owner/name', cache());
    expect(at.names(at.cacheDir)).toEqual(['models--owner--other']);
  });

  test('links of a snapshot to files elsewhere are removed, the files are not', async () => {
    writeAsPython({ files: { 'm-Q4_K_M.gguf': model, 'm-Q8_0.gguf': small } });
    const outside = join(at.cacheDir, 'mine.gguf');
    writeFileSync(outside, small);
    symlinkSync(outside, at.at('owner/name', 'snapshots', commit, 'x-F16.gguf'));
    await remove('hf:owner/name:F16', cache());
    expect(existsSync(outside)).toBe(true);
    expect(at.names(at.at('owner/name', 'snapshots', commit))).toEqual(['m-Q4_K_M.gguf', 'm-Q8_0.gguf']);
  });

  test('what is not there', async () => {
    await expect(remove('hf:owner/name', cache())).rejects.toMatchObject({ code: 'NOT_CACHED' });
    writeAsPython({ files: { 'm-Q4_K_M.gguf': model } });
    for (const name of ['hf:owner/name:Q8_0', 'hf:owner/name@v3', 'hf:owner/name@v3:Q4_K_M'])
      await expect(remove(name, cache())).rejects.toMatchObject({ code: 'NOT_CACHED' });
    await expect(remove('hf:../name', cache())).rejects.toMatchObject({ code: 'BAD_NAME' });
    expect(blobs()).toHaveLength(1);
  });
});

describe('a cache that cannot be used', () => {
  test('a file in its place', async () => {
    at.hub.commit('owner/name', { 'm-Q4_K_M.gguf': model });
    const file = join(at.cacheDir, 'file');
    writeFileSync(file, 'x');
    await expect(pull('hf:owner/name', at.options({ cacheDir: join(file, 'hub') }))).rejects.toMatchObject({
      code: 'CACHE_FAILED',
      message: expect.stringMatching(/file.hub \(ENOTDIR\): check the permissions, or set HF_HUB_CACHE/),
    });
  });

  test.each(['', 'blobs'])('no permission to write in %j', async (folder) => {
    at.hub.commit('owner/name', { 'm-Q4_K_M.gguf': model });
    const closed = folder === '' ? at.cacheDir : at.at('owner/name', folder);
    mkdirSync(closed, { recursive: true });
    chmodSync(at.cacheDir, 0o755);
    chmodSync(closed, 0o555);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid!(65534); // root may write everywhere
    try {
      await expect(pull('hf:owner/name', at.options())).rejects.toMatchObject({
        code: 'CACHE_FAILED',
        message: expect.stringContaining('(EACCES)'),
      });
    } finally {
      if (isRoot) process.seteuid!(0);
      chmodSync(closed, 0o755);
    }
  });
});

describe('inspectCache', () => {
  test('bytes of files, each once, and of downloads that have not ended', async () => {
    at.hub.commit('owner/name', { 'm-Q4_K_M.gguf': model });
    await pull('hf:owner/name', at.options());
    const before = await inspectCache(at.options());
    writeFileSync(at.at('owner/name', 'blobs', 'x.incomplete'), model.subarray(0, 1000));
    expect(await inspectCache(at.options())).toEqual({
      path: at.cacheDir,
      exists: true,
      bytes: before.bytes + 1000,
      incompleteBytes: 1000,
      freeBytes: expect.any(Number),
    });
    expect(before.bytes).toBeGreaterThanOrEqual(model.length);
    expect(before.bytes).toBeLessThan(2 * model.length); // links are not followed
  });

  test('a folder that does not exist is not made; no permission to make it', async () => {
    const folder = join(at.cacheDir, 'a', 'b');
    expect(await inspectCache(at.options({ cacheDir: folder }))).toMatchObject({ exists: false, bytes: 0 });
    expect(readdirSync(at.cacheDir)).toEqual([]);
    chmodSync(at.cacheDir, 0o555);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid!(65534); // root may write everywhere
    try {
      for (const [cacheDir, exists] of [
        [folder, false],
        [at.cacheDir, true],
      ] as const)
        expect(await inspectCache(at.options({ cacheDir }))).toMatchObject({ exists, unwritable: 'EACCES' });
    } finally {
      if (isRoot) process.seteuid!(0);
      chmodSync(at.cacheDir, 0o755);
    }
  });

  test('a file in its place', async () => {
    const file = join(at.cacheDir, 'file');
    writeFileSync(file, 'x');
    expect(await inspectCache(at.options({ cacheDir: join(file, 'hub') }))).toMatchObject({
      exists: false,
      unwritable: 'ENOTDIR',
    });
  });
});
