import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Progress } from '@quern/core';
import { pull, remove } from '@quern/hub';
import { type Holder, holderOf, isLock, type Lock, takeLock } from '../src/cache/lock.js';
import { randomBytes, sha256 } from './fake-hub.js';
import { useHub } from './hub-test.js';

const at = useHub();
const lockPath = () => join(at.cacheDir, '.locks', 'x.lock');

/** The id of a process that has ended. */
const deadPid = (): number => spawnSync(process.execPath, ['-e', '']).pid;

function writeHolder(path: string, holder: Partial<Holder>, touched = new Date()): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    JSON.stringify({ pid: process.pid, host: hostname(), since: 0, id: 'other', ...holder }),
  );
  utimesSync(path, touched, touched);
}

async function held(path: string): Promise<Lock> {
  const taken = await takeLock(path);
  if (!isLock(taken)) throw new Error(`process ${taken.pid} holds it`);
  return taken;
}

test('one holder at a time', async () => {
  const lock = await held(lockPath());
  expect(await takeLock(lockPath())).toMatchObject({ pid: process.pid, host: hostname() });
  await lock.release();
  await (await held(lockPath())).release();
  expect(readdirSync(dirname(lockPath()))).toEqual([]);
});

test('many at once: one gets it', async () => {
  const taken = await Promise.all(Array.from({ length: 20 }, () => takeLock(lockPath())));
  expect(taken.filter(isLock)).toHaveLength(1);
  await taken.find(isLock)!.release();
});

test.each<[string, () => Partial<Holder>, Date]>([
  ['a dead process', () => ({ pid: deadPid() }), new Date()],
  ['a live process that has not touched it for long', () => ({}), new Date(Date.now() - 120_000)],
  [
    'another machine that has not touched it for long',
    () => ({ host: 'elsewhere' }),
    new Date(Date.now() - 120_000),
  ],
])('the lock of %s is taken over', async (_, holder, touched) => {
  writeHolder(lockPath(), holder(), touched);
  expect(await holderOf(lockPath())).toBeUndefined();
  const taken = await Promise.all([takeLock(lockPath()), takeLock(lockPath()), takeLock(lockPath())]);
  expect(taken.filter(isLock)).toHaveLength(1);
  const file: Holder = JSON.parse(readFileSync(lockPath(), 'utf8'));
  expect(file).toMatchObject({ pid: process.pid });
  expect(file.id).not.toBe('other');
  await taken.find(isLock)!.release();
});

test.each<[string, Partial<Holder>]>([
  ['another machine', { host: 'elsewhere' }],
  ['a process of another user', { pid: 1 }],
])('the lock of %s is respected', async (_, holder) => {
  writeHolder(lockPath(), holder);
  expect(isLock(await takeLock(lockPath()))).toBe(false);
  expect(await holderOf(lockPath())).toMatchObject(holder);
});

test('an empty file is a lock that is being written; an old one is not', async () => {
  mkdirSync(dirname(lockPath()), { recursive: true });
  writeFileSync(lockPath(), '');
  expect(isLock(await takeLock(lockPath()))).toBe(false);
  const old = new Date(Date.now() - 120_000);
  utimesSync(lockPath(), old, old);
  await (await held(lockPath())).release();
});

test('a lock that was taken over is not released by its old holder', async () => {
  const lock = await held(lockPath());
  rmSync(lockPath());
  writeHolder(lockPath(), {});
  await lock.release();
  expect(statSync(lockPath()).isFile()).toBe(true);
});

describe('pulls', () => {
  const model = randomBytes(200_000, 1);
  const blobLock = () => join(at.cacheDir, '.locks', 'models--owner--name', `${sha256(model)}.quern.lock`);

  test('two at once fetch the bytes once; the second shows that it waits', async () => {
    at.hub.commit('owner/name', { 'm-Q8_0.gguf': model });
    const second: Progress<'download'>[] = [];
    let other: Promise<unknown> | undefined;
    at.hub.fault = ({ at: where }) =>
      where !== 'storage'
        ? undefined
        : {
            async afterChunk() {
              other ??= pull(
                'hf:owner/name',
                at.options({ onProgress: (progress) => second.push(progress) }),
              );
              while (second.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
            },
          };
    const first = await pull('hf:owner/name', at.options());
    expect(await other).toEqual(first);
    expect(second[0]).toMatchObject({ waitingFor: process.pid, total: 200_000 });
    expect(second.at(-1)).toMatchObject({ done: 200_000 });
    expect(second.at(-1)).not.toHaveProperty('waitingFor');
    expect(at.hub.storageBytes).toBe(200_000);
  });

  test('the lock of a dead process does not hold a pull up', async () => {
    at.hub.commit('owner/name', { 'm-Q8_0.gguf': model });
    writeHolder(blobLock(), { pid: deadPid() });
    await pull('hf:owner/name', at.options());
    expect(at.hub.storageBytes).toBe(200_000);
  });

  test('a wait can be aborted; remove refuses meanwhile', async () => {
    at.hub.commit('owner/name', { 'm-Q8_0.gguf': model });
    writeHolder(blobLock(), { host: 'elsewhere', pid: 77 });
    const controller = new AbortController();
    const onProgress = ({ waitingFor }: Progress<'download'>) => {
      if (waitingFor !== undefined) controller.abort();
    };
    await expect(
      pull('hf:owner/name', at.options({ onProgress, signal: controller.signal })),
    ).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(remove('hf:owner/name', { cacheDir: at.cacheDir })).rejects.toMatchObject({
      code: 'IN_USE',
      message: expect.stringContaining('process 77 downloads'),
    });
    expect(at.hub.storageBytes).toBe(0);
  });
});
