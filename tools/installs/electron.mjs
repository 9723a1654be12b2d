// Electron, which is not run here: the types of its example, and Node with the one refusal of Electron that reaches native code.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../setup.mjs';
import { attempt, expectText } from './table.mjs';
import { anyVersion, installed as installedBy, run, story } from './work.mjs';

const part = 'Electron, not run: its types, and its refusal';
const quern = anyVersion('@quern/core', '@quern/runtime', '@quern/backend-cpu', '@quern/demo-model');

const installed = (name, dependencies, origin) =>
  installedBy(name, origin, {
    dependencies: { ...quern, ...dependencies },
    copied: ['story.mjs'],
    manifest: { type: 'module' },
  });

const compilerOptions = {
  strict: true,
  noEmit: true,
  allowJs: true,
  checkJs: true,
  skipLibCheck: true,
  target: 'es2022',
  module: 'nodenext',
  lib: ['es2023', 'esnext.disposable', 'dom'],
  types: ['node', 'electron'],
};

async function checkTypes(origin) {
  const tools = { electron: '*', '@types/node': '*', typescript: '6' };
  const folder = await installed('electron-types', tools, origin);
  cpSync(join(root, 'examples/electron'), join(folder, 'electron'), { recursive: true });
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['electron'] }));
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], { cwd: folder });
  const { version } = JSON.parse(readFileSync(join(folder, 'node_modules/electron/package.json'), 'utf8'));
  return `pass: Electron ${version}`;
}

const refused = 'napi_create_external_arraybuffer';
const renamed = 'napi_create_external_arraybuffeR'; // of the same length: only a name in the addon's table changes

/** Answers as Electron does, napi_no_external_buffers_allowed, and says so. */
const refusal = `#include <unistd.h>
int ${renamed}(void) { return write(2, "refused\\n", 8) == 8 ? 22 : 9; }
`;

/** A process finds Node's own functions first, so the addon asks for another name. */
async function checkRefusal(origin) {
  const folder = await installed('electron-refusal', {}, origin);
  const addon = readFileSync(
    join(folder, 'node_modules/@quern/backend-cpu-linux-x64-gnu/backend_cpu.node'),
    'latin1',
  );
  if (!addon.includes(refused)) throw new Error(`the addon never calls ${refused}: drop this check`);
  writeFileSync(join(folder, 'electron.node'), addon.replaceAll(refused, renamed), 'latin1');
  writeFileSync(join(folder, 'refusal.c'), refusal);
  await run('cc', ['-shared', '-fPIC', '-o', 'refusal.so', 'refusal.c'], { cwd: folder });
  const env = { LD_PRELOAD: join(folder, 'refusal.so'), QUERN_CPU_BINARY: join(folder, 'electron.node') };
  const { stdout, stderr } = await run(process.execPath, ['story.mjs'], { cwd: folder, env });
  expectText(stderr, /^refused$/m);
  expectText(stdout, story);
}

const electronCase = (name, seconds, project, act) => ({
  name: `electron/${name}`,
  seconds,
  act: ({ origin }) => attempt({ part, project }, () => act(origin)),
});

export const electronCases = [
  electronCase('types', 5, 'examples/electron against Electron’s declarations', checkTypes),
  electronCase('refusal', 2, 'Node without external ArrayBuffers, CPU backend', checkRefusal),
];
