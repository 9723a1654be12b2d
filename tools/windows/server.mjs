// `quern serve demo` in a runtime of another platform, and its answer to a request.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The port that a server prints; ends with an error if the server ends. */
async function portOf(server, file) {
  for (;;) {
    const output = readFileSync(file, 'utf8');
    const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1];
    if (port !== undefined) return port;
    if (server.exitCode !== null || server.signalCode !== null)
      throw new Error(`quern serve ended: ${output}`);
    await sleep(200);
  }
}

async function complete(port, body) {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { choices } = await answer.json();
  return { status: answer.status, text: choices?.[0]?.text };
}

async function end(server) {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGKILL');
  await once(server, 'exit');
}

/** The answer of `quern serve demo` to `body`. `command`: the runtime and quern's module. */
export async function askServer([program, ...args], env, body) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-server-'));
  const file = join(folder, 'output');
  const out = openSync(file, 'w');
  const server = spawn(program, [...args, 'serve', 'demo', '--port', '0', '--backend', 'cpu'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  try {
    return await complete(await portOf(server, file), body);
  } finally {
    await end(server);
    rmSync(folder, { recursive: true });
  }
}
