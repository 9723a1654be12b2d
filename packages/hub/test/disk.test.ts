import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pull } from '@quern/hub';
import { randomBytes, sha256 } from './fake-hub.js';
import { useHub } from './hub-test.js';

const at = useHub();
const model = randomBytes(700_000, 1);

test('the disk is too small: no byte is fetched, and the message has the numbers', async () => {
  const commit = at.hub.commit('owner/name', { 'm-Q8_0.gguf': model });
  const size = 2 ** 52;
  const siblings = [{ rfilename: 'm-Q8_0.gguf', size, lfs: { sha256: 'a'.repeat(64), size } }];
  at.hub.fault = () => ({ body: JSON.stringify({ sha: commit, siblings }) });
  await expect(pull('hf:owner/name', at.options())).rejects.toMatchObject({
    code: 'NO_SPACE',
    message: expect.stringMatching(
      /needs 4503599\.63 GB \(4503599627370496 bytes\), but the disk of .* has [\d.]+ GB free/,
    ),
  });
  expect(at.hub.seen.map((each) => each.at)).toEqual(['api']);
});

const blob = (cacheDir: string) => join(cacheDir, 'models--owner--name', 'blobs', sha256(model));

/** /dev/full refuses every write with ENOSPC. */
const full = existsSync('/dev/full') ? test : test.skip;

full('a write that fails with ENOSPC: a clear error, and no blob', async () => {
  at.hub.commit('owner/name', { 'm-Q8_0.gguf': model });
  mkdirSync(dirname(blob(at.cacheDir)), { recursive: true });
  symlinkSync('/dev/full', `${blob(at.cacheDir)}.incomplete`);
  await expect(pull('hf:owner/name', at.options())).rejects.toMatchObject({
    code: 'NO_SPACE',
    message: expect.stringMatching(
      /\.incomplete cannot be written \(ENOSPC\): the disk or the quota is full.*the next pull resumes/,
    ),
  });
  expect(existsSync(blob(at.cacheDir))).toBe(false);
  expect(existsSync(at.at('owner/name', 'snapshots'))).toBe(false);
});

test('a disk that fills up in the middle: the bytes stay, nothing has a name, the next pull ends it', async () => {
  const small = join(at.cacheDir, 'small');
  mkdirSync(small);
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
  if (status !== 0)
    return console.log('note: no small disk can be mounted here: the test of a full one is skipped');
  try {
    at.hub.commit('owner/name', { 'm-Q8_0.gguf': model });
    const filler = join(small, 'filler');
    const afterChunk = () => {
      if (!existsSync(filler)) writeFileSync(filler, Buffer.alloc(600_000)); // after the first 16 KiB
    };
    at.hub.fault = ({ at: where }) => (where === 'storage' ? { afterChunk } : undefined);
    const error = await pull('hf:owner/name', at.options({ cacheDir: small })).catch((reason) => reason);
    expect(error).toMatchObject({ code: 'NO_SPACE', message: expect.stringContaining('(ENOSPC)') });
    expect(existsSync(blob(small))).toBe(false);
    expect(existsSync(join(small, 'models--owner--name', 'snapshots'))).toBe(false);
    at.hub.fault = () => undefined;
    rmSync(filler);
    const before = at.hub.storageBytes;
    const pulled = await pull('hf:owner/name', at.options({ cacheDir: small }));
    expect(readFileSync(pulled.path).equals(model)).toBe(true);
    expect(at.hub.storageBytes - before).toBeLessThan(model.length);
  } finally {
    spawnSync('umount', ['-l', small]);
  }
});
