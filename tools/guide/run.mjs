// Compiles and runs the programs of docs/guide in an application's folder with installed packages:
// `node tools/guide/run.mjs FOLDER`. Without FOLDER: in a new folder, linked to this checkout's built packages.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { guideBlocks } from './blocks.mjs';
import { writeFiles } from './files.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const linked = ['core', 'models', 'quant', 'runtime', 'server', 'backend-cpu', 'demo-model'];

/** An application that depends on this checkout's packages. */
export function linkedApplication() {
  const folder = mkdtempSync(join(tmpdir(), 'quern-guide-'));
  mkdirSync(join(folder, 'node_modules/@quern'), { recursive: true });
  for (const name of linked)
    symlinkSync(join(root, 'packages', name), join(folder, 'node_modules/@quern', name));
  const dependencies = Object.fromEntries(linked.map((name) => [`@quern/${name}`, '*']));
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'guide', type: 'module', dependencies }),
  );
  return folder;
}

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  target: 'ES2022', // `using` compiled for Node 20
  lib: ['ESNext'],
  module: 'NodeNext',
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
};

/** Writes each block as a TypeScript program; returns the compiler's errors, '' for none. */
function compile(folder, blocks) {
  for (const { name, source } of blocks) writeFileSync(join(folder, `${name}.mts`), source);
  const files = blocks.map(({ name }) => `${name}.mts`);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' }).stdout;
}

/** Runs a compiled program; returns its fault, '' for none. */
async function runBlock(folder, { name, output }) {
  const child = spawn(process.execPath, [`${name}.mjs`], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
  });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.on('close', resolve)),
  ]);
  if (code !== 0 || stderr) return `${name}: ended with ${code}\n${stderr}`;
  if (output === undefined || stdout === output) return '';
  return `${name}: printed\n${stdout}where the page shows\n${output}`;
}

async function text(stream) {
  let all = '';
  for await (const chunk of stream.setEncoding('utf8')) all += chunk;
  return all;
}

/** `{ passed, failures }` of all guide programs in `folder`. */
export async function runGuide(folder) {
  const blocks = guideBlocks();
  const complaints = compile(folder, blocks);
  if (complaints) return { passed: 0, failures: [complaints] };
  await writeFiles(folder);
  const waiting = [...blocks];
  const failed = [];
  const lane = async () => {
    for (let block = waiting.shift(); block; block = waiting.shift()) {
      const failure = await runBlock(folder, block);
      if (failure) failed.push(failure);
    }
  };
  await Promise.all([lane(), lane()]);
  return { passed: blocks.length - failed.length, failures: failed };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const given = process.argv[2];
  const folder = given ?? linkedApplication();
  const { passed, failures } = await runGuide(folder);
  if (!given) rmSync(folder, { recursive: true });
  for (const failure of failures) console.error(failure);
  console.log(`guide: ${passed} programs ran as shown, ${failures.length} did not`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}
