// Rates of a GPU, measured in a child process: a crash or a hang there costs this process nothing.
import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { BackendError, type BackendErrorCode, type DeviceCeilings, makeFolder } from '@quern/core';
import { type Addon, addonFile, type NativeBackend, type NativeOptions } from './addon.js';

/** Milliseconds after which a measurement ends itself. */
const longest = 120_000;
/** Milliseconds for which a failed measurement is not repeated unasked. */
const pause = 24 * 3_600_000;

/**
 * Arguments: the addon's file, options of its device as JSON, a file to remove after success or ''. Prints {ceilings} or
 * {error}.
 */
const script = `
setTimeout(() => process.kill(process.pid, 'SIGKILL'), ${longest}).unref();
const [file, options, lock] = process.argv.slice(1);
const makeError = (code, message) => Object.assign(new Error(message), { code });
async function measure() {
  const { NativeBackend } = require(file);
  const native = new NativeBackend(JSON.parse(options), makeError);
  console.log(JSON.stringify({ ceilings: await native.ceilings() }));
  if (lock) require('node:fs').rmSync(lock, { force: true });
  native.dispose();
}
measure().catch(({ code, message }) => console.log(JSON.stringify({ error: { code, message } })));
`;

/** The program and its arguments; undefined where a child process would not be Node, or the addon has no file. */
function command(addon: Addon, options: NativeOptions, lock = ''): [string, string[]] | undefined {
  const file = addonFile(addon);
  if (!file || !/^node(\.exe)?$/.test(basename(process.execPath))) return undefined;
  return [process.execPath, ['-e', script, file, JSON.stringify({ ...options, rates: 'measure' }), lock]];
}

/** Without hooks that are meant for this process. */
const environment = () => ({ ...process.env, NODE_OPTIONS: '' });

interface Printed {
  readonly ceilings?: DeviceCeilings;
  readonly error?: { readonly code: BackendErrorCode; readonly message: string };
}

/**
 * The ceilings of the device that `options` name, measured now; later backends take the rates. Undefined where no child
 * process can be started. Rejects with DEVICE_FAILED, or as making the device does.
 */
export async function measureRates(
  addon: Addon,
  options: NativeOptions,
): Promise<DeviceCeilings | undefined> {
  const started = command(addon, options);
  if (!started) return undefined;
  const limits = { env: environment(), timeout: longest, killSignal: 'SIGKILL' } as const;
  const ended = promisify(execFile)(...started, limits).catch((cause) => {
    if (typeof cause.code === 'string') return { stdout: '{}' }; // not started: EACCES, ENOENT
    const how = cause.signal ? `was ended by ${cause.signal}` : `ended with ${cause.code}`;
    throw new BackendError(
      'DEVICE_FAILED',
      `the rates could not be measured: the process that measured ${how}; estimates stay in their place`,
      { cause },
    );
  });
  const last = (await ended).stdout.trim().split('\n').at(-1); // a driver may print before
  const { ceilings, error }: Printed = JSON.parse(last || '{}');
  if (error) throw new BackendError(error.code, `the rates could not be measured: ${error.message}`);
  return ceilings;
}

/** Whether this process may measure for `file`: no other one does, and none has failed within a day. */
function takesLock(lock: string): boolean {
  try {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > pause) rmSync(lock);
    closeSync(openSync(lock, 'wx'));
    return true;
  } catch {
    return false;
  }
}

/** A child process that nobody waits for: it goes on if this process ends. */
async function measureAlone(addon: Addon, options: NativeOptions, file: string): Promise<void> {
  const lock = `${file}.lock`;
  await makeFolder(dirname(lock));
  const started = command(addon, options, lock);
  if (!started || !takesLock(lock)) return;
  const child = spawn(...started, { env: environment(), stdio: 'ignore' });
  child.on('error', () => rmSync(lock, { force: true }));
  child.unref();
}

/**
 * Measures once, for later processes, when the device has run and then had no work for a second. Keeps neither the event
 * loop nor the process nor the device.
 * @returns ends the waiting
 */
export function measureWhenIdle(addon: Addon, native: NativeBackend, options: NativeOptions): () => void {
  const device = new WeakRef(native);
  const stop = () => clearInterval(timer);
  const timer = setInterval(() => {
    try {
      const file = device.deref()?.unmeasuredRates();
      if (file === '') return;
      stop();
      if (file !== undefined) measureAlone(addon, options, file).catch(() => {}); // no permission for folders or child processes
    } catch {
      stop(); // disposed or failed
    }
  }, 1000).unref();
  return stop;
}
