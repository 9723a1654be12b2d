// Programs whose output goes through files: wine's pipes are not Node's.
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const minute = 60_000;

/** Calls `act` with a new folder, which is removed afterwards. */
function inFolder(act) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-output-'));
  try {
    return act(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs a command for `minutes` at most. `fault`: undefined, or why it ended otherwise than with 0. */
export function captured(command, args, env = {}, minutes = 30) {
  return inFolder((folder) => {
    const files = ['stdout', 'stderr'].map((name) => join(folder, name));
    const open = files.map((file) => openSync(file, 'w'));
    const { status, signal, error } = spawnSync(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', ...open],
      timeout: minutes * minute,
    });
    open.forEach(closeSync);
    const [stdout, stderr] = files.map((file) => readFileSync(file, 'utf8'));
    const fault = status === 0 ? undefined : (error?.message ?? signal ?? `status ${status}`);
    return { fault, stdout, stderr };
  });
}
