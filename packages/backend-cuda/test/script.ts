// Scripts in a process of their own, with the addon alone.
import './emulated.js';
import { spawnSync } from 'node:child_process';

/** Before a script: the addon's functions. */
export const prelude = `
  const { NativeBackend, listDevices } = require(process.env.QUERN_CUDA_BINARY);
  const { fork } = require('node:child_process');
  const { Worker, parentPort } = require('node:worker_threads');
  const library = process.env.QUERN_CUDA_LIBRARY;
  const makeError = (code, message) => Object.assign(new Error(message), { code });
  const create = (options) => new NativeBackend({ library, ...options }, makeError);
  const list = () => listDevices({ library }, makeError);
  const outcome = (act) => { try { return act(); } catch ({ code, message }) { return code + ': ' + message; } };
`;

/** What a script prints. Throws if the script crashes or does not end. */
export function run(script: string, env: Readonly<Record<string, string>> = {}): string {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['-e', prelude + script], {
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(`ended with ${status ?? signal}: ${stderr}`);
  return stdout;
}
