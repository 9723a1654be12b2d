import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { makeFolder, rules } from '@quern/core';
import { codeOf } from '../error.js';
import { ifThere } from './cache-fault.js';

/** The holder of a lock, as its file says. */
export interface Holder {
  readonly pid: number;
  readonly host: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Tells two locks of one process apart. */
  readonly id: string;
}

const touchMs = 5_000;

/** A holder touches its file every 5 s. A file that was not touched for so long belongs to no live process. */
const staleMs = 60_000;

/** A held lock. */
export interface Lock {
  release(): Promise<void>;
}

/**
 * Takes the lock, or returns its live holder. The lock of a dead holder is taken over. Two holders at once are possible
 * where a process sleeps for a minute; they write the same bytes at the same places.
 */
export async function takeLock(path: string): Promise<Lock | Holder> {
  await makeFolder(dirname(path));
  const own: Holder = { pid: process.pid, host: hostname(), since: Date.now(), id: randomUUID() };
  for (;;) {
    if (await create(path, own)) return held(path, own);
    const other = await readHolder(path);
    if (await isLive(path, other)) return other ?? unknown;
    await removeStale(path, other);
  }
}

/** Whoever has made the file, but not yet written it. */
const unknown: Holder = { pid: 0, host: '', since: 0, id: '' };

export const isLock = (taken: Lock | Holder): taken is Lock => 'release' in taken;

/** The live holder of a lock; undefined: nobody holds it. */
export async function holderOf(path: string): Promise<Holder | undefined> {
  const holder = await readHolder(path);
  return (await isLive(path, holder)) ? (holder ?? unknown) : undefined;
}

/** The file appears with its content; false: there is one. */
async function create(path: string, own: Holder): Promise<boolean> {
  const draft = `${path}.${own.id}`;
  const text = JSON.stringify(own);
  await writeFile(draft, text);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    return await createPlainly(path, text); // a file system without hard links
  } finally {
    await rm(draft, { force: true });
  }
}

async function createPlainly(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function held(path: string, own: Holder): Lock {
  const touch = () => {
    const now = new Date();
    utimes(path, now, now).catch(() => {}); // taken over: the file is another's
  };
  const timer = setInterval(touch, touchMs);
  timer.unref();
  return {
    async release() {
      clearInterval(timer);
      if ((await readHolder(path))?.id === own.id) await rm(path, { force: true });
    },
  };
}

/** Undefined: no file, or one without a holder in it. */
async function readHolder(path: string): Promise<Holder | undefined> {
  const text = await ifThere(() => readFile(path, 'utf8'));
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isHolder(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isHolder = (value: unknown): value is Holder =>
  rules.isObject(value) &&
  rules.whole(1).holds(value.pid) &&
  typeof value.host === 'string' &&
  typeof value.since === 'number' &&
  typeof value.id === 'string';

async function isLive(path: string, holder: Holder | undefined): Promise<boolean> {
  if (holder?.host === hostname() && !isRunning(holder.pid)) return false;
  const file = await ifThere(() => stat(path));
  return file !== undefined && Date.now() - file.mtimeMs < staleMs;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM'; // a process of another user
  }
}

/** Renamed first: a fresh lock that came in between is put back. */
async function removeStale(path: string, stale: Holder | undefined): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  const moved = await ifThere(() => rename(path, aside).then(() => true));
  if (!moved) return;
  const taken = await readHolder(aside);
  if (taken !== undefined && taken.id !== stale?.id) await link(aside, path).catch(() => {});
  await rm(aside, { force: true });
}
