// Prepares gpu-kit/: all that tools/gpu/run.sh needs on a machine with a GPU and without a network, Node included.
//   node tools/gpu/bring.mjs [--arch 90a,100] [--to gpu-kit] [--gzip] [--limit 63] [--emulated] [--metal]
// Packs with xz (or python3's lzma), which run.sh unpacks by either; --gzip: for a machine with neither. Prints what travels, and both calls.
// Needs: npm run build, and nvcc. --emulated: an emulated GPU in place of the kernels, for a dry run without nvcc. --metal: for
// tools/gpu/mac.mjs on this machine; without Node and nvcc.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));
const { values: flags } = parseArgs({
  options: {
    arch: { type: 'string', default: '90a' },
    to: { type: 'string' },
    gzip: { type: 'boolean' },
    limit: { type: 'string', default: '63' },
    emulated: { type: 'boolean' },
    metal: { type: 'boolean' },
  },
});
const to = resolve(flags.to ?? join(root, 'gpu-kit'));
/** Where the kit is put together: on a Mac it stays as it is. */
const kit = flags.metal ? to : mkdtempSync(join(tmpdir(), 'quern-kit-'));
if (!flags.metal) process.on('exit', () => rmSync(kit, { recursive: true, force: true }));
const gpu = flags.metal ? 'metal' : 'cuda';
const backend = join(root, `packages/backend-${gpu}`);

function stop(message) {
  console.error(`bring: ${message}`);
  process.exit(1);
}

const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });

function has(command) {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Our packages that the parts use: a folder of packages/, and the paths of it that travel. */
const ours = {
  core: ['dist'],
  quant: ['dist', 'build/Release'],
  grammar: ['dist'],
  models: ['dist'],
  runtime: ['dist'],
  'native-runtime': ['dist'],
  conformance: ['dist'],
  'backend-cpu': ['dist', 'build/Release'],
  'backend-reference': ['dist'],
  [`backend-${gpu}`]: ['dist'],
  'demo-model': ['dist', 'model'],
};

/** Without source maps, declarations, and CommonJS twins of modules. */
const travels = (path) => !/\.(map|cjs|d\.c?ts|a|lib|exp)$/.test(path);

const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

function bringOurs(name, paths) {
  const from = join(root, 'packages', name);
  const to = join(kit, 'node_modules', manifestOf(from).name);
  mkdirSync(to, { recursive: true });
  copyFileSync(join(from, 'package.json'), join(to, 'package.json'));
  for (const path of paths) {
    if (!existsSync(join(from, path)))
      stop(`packages/${name}/${path} is missing; build first: npm run build`);
    cpSync(join(from, path), join(to, path), { recursive: true, filter: travels });
  }
  for (const other of Object.keys(manifestOf(from).dependencies ?? {}))
    if (!other.startsWith('@quern/')) bringOther(other, from);
}

/** A package of npm's registry and its dependencies, all in one folder: none is needed in two versions. */
function bringOther(name, from) {
  const link = [from, join(from, '../..'), join(from, '..')].map((folder) =>
    join(folder, 'node_modules', name),
  );
  const beside = join(from.slice(0, from.lastIndexOf('node_modules') + 'node_modules'.length), name);
  const found = [...link, beside].find((folder) => existsSync(join(folder, 'package.json')));
  if (!found) stop(`${name}, which ${from} needs, is not installed`);
  const to = join(kit, 'node_modules', name);
  const { version, dependencies = {} } = manifestOf(found);
  if (existsSync(to)) {
    if (manifestOf(to).version !== version) stop(`${name} is needed in two versions`);
    return;
  }
  cpSync(found, to, {
    recursive: true,
    dereference: true,
    filter: (path) => travels(path) || path === found,
  });
  const real = run('realpath', found).toString().trim();
  for (const other of Object.keys(dependencies)) bringOther(other, real);
}

const cmake = (...args) => run('cmake', ...args);

/** CMake's options: kernels of the wanted architectures alone, 2.2 MB each; PTX for others would add 2.8 MB and half the time to compile. */
function addonOptions() {
  const emulated = flags.emulated ? [`-DQUERN_EMULATED_${gpu.toUpperCase()}=ON`] : [];
  if (flags.metal) return emulated;
  return flags.emulated
    ? [...emulated, '-DNVCC=NVCC-NOTFOUND']
    : [`-DQUERN_CUDA_ARCHITECTURES=${flags.arch.replaceAll(',', ';')}`, '-DQUERN_CUDA_PTX=OFF'];
}

/** The path of the addon in the kit. */
function bringAddon() {
  const build = join(backend, flags.emulated ? 'build/emulated' : 'build/kit');
  cmake('-S', backend, '-B', build, ...addonOptions());
  cmake('--build', build, '--parallel', '2');
  const to = join(kit, `node_modules/@quern/backend-${gpu}/build/Release`);
  mkdirSync(to, { recursive: true });
  copyFileSync(join(build, `backend_${gpu}.node`), join(to, `backend_${gpu}.node`));
  if (flags.emulated) copyFileSync(join(build, `libemulated_${gpu}.so`), join(kit, `lib${gpu}.so`));
  return join(to, `backend_${gpu}.node`);
}

/** A program that measures the device without Quern. */
function bringProbe() {
  const probe = join(kit, 'probe');
  const targets = flags.arch.split(',').map((arch) => `-gencode=arch=compute_${arch},code=sm_${arch}`);
  run(
    'nvcc',
    '-std=c++17',
    '-O3',
    '-cudart',
    'static',
    ...targets,
    '-o',
    probe,
    join(root, 'tools/gpu/probe.cu'),
  );
}

/** This Node without its symbols. */
function bringNode() {
  const node = join(kit, 'node');
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  if (has('strip')) run('strip', node);
}

/** That node and the addon need of their compiler, by their names for the linker. */
const libraries = ['libstdc++.so.6', 'libgcc_s.so.1'];

/** For a machine without them, or with older ones. */
function bringLibraries(addon) {
  const linked = run('ldd', process.execPath).toString() + run('ldd', addon);
  mkdirSync(join(kit, 'lib'));
  for (const name of libraries) {
    const path = linked.match(new RegExp(`${name.replace(/[.+]/g, '\\$&')} => (/\\S+)`))?.[1];
    if (path) copyFileSync(path, join(kit, 'lib', name)); // otherwise it is linked statically
  }
}

/** The highest version of glibc whose symbols a program or library names. */
function glibcOf(path) {
  const minors = [...readFileSync(path, 'latin1').matchAll(/GLIBC_2\.(\d+)\b/g)].map(([, minor]) => +minor);
  return minors.length > 0 ? `2.${Math.max(...minors)}` : 'none';
}

const showGlibc = (addon) => {
  const files = { node: process.execPath, addon };
  for (const name of readdirSync(join(kit, 'lib'))) files[`lib/${name}`] = join(kit, 'lib', name);
  const needs = Object.entries(files).map(([name, path]) => `${name} ${glibcOf(path)}`);
  console.log(`the highest glibc needed: ${needs.join(', ')}`);
};

/** Logits of other implementations, where the shared data is there. */
function bringGoldens() {
  const shared = join(root, '../shared/data/tiny-hf');
  if (existsSync(shared)) cpSync(shared, join(kit, 'tiny-hf'), { recursive: true });
  else console.log('without golden logits: ../shared/data/tiny-hf is not there');
}

/** What report.mjs names beside the figures. */
function writeFacts() {
  const git = (...args) =>
    run('git', '-C', root, ...args)
      .toString()
      .trim();
  const changed = git('status', '--porcelain') !== '';
  const facts = {
    commit: git('rev-parse', '--short', 'HEAD') + (changed ? ' with changes' : ''),
    node: process.version,
    backend: gpu,
    architectures: flags.emulated || flags.metal ? [] : flags.arch.split(','),
    emulated: flags.emulated ?? false,
  };
  writeFileSync(join(kit, 'kit.json'), `${JSON.stringify(facts, null, 2)}\n`);
}

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

const mebibytes = (bytes) => (bytes / 2 ** 20).toFixed(1);
const bytesIn = (files) => files.reduce((sum, file) => sum + statSync(file).size, 0);

function showSizes() {
  const sizes = new Map();
  for (const file of filesIn(kit)) {
    const path = relative(kit, file);
    const part = path.startsWith('node_modules/')
      ? path
          .split('/')
          .slice(0, path.startsWith('node_modules/@') ? 3 : 2)
          .join('/')
      : path.split('/')[0];
    sizes.set(part, (sizes.get(part) ?? 0) + statSync(file).size);
  }
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  for (const [part, size] of [...sizes, ['all', total]].sort(([, a], [, b]) => b - a))
    console.log(`${mebibytes(size).padStart(7)} MiB  ${part}`);
}

/** A filter that packs: xz, or python3's lzma. A dry run packs fast. */
function packer() {
  const level = flags.emulated ? 0 : 9;
  if (!flags.gzip && has('xz')) return { suffix: 'xz', command: ['xz', `-${level}`, '-T2', '-c'] };
  if (!flags.gzip && has('python3')) {
    const script = `import lzma, sys; sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), preset=${level}))`;
    return { suffix: 'xz', command: ['python3', '-c', script] };
  }
  return { suffix: 'gz', command: ['gzip', `-${Math.max(1, level)}`, '-c'] };
}

/** The kit as one file, and what it is of. */
function pack() {
  const { suffix, command } = packer();
  const [program, ...args] = command;
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const path = join(to, `kit.tar.${suffix}`);
  const tar = join(dirname(kit), `${basename(kit)}.tar`);
  run('tar', '-cf', tar, '-C', kit, '.');
  const [input, output] = [openSync(tar, 'r'), openSync(path, 'w')];
  const { status } = spawnSync(program, args, { stdio: [input, output, 'inherit'] });
  for (const file of [input, output]) closeSync(file);
  copyFileSync(join(kit, 'kit.json'), join(to, 'kit.json'));
  rmSync(tar);
  if (status !== 0) stop(`${program} could not pack ${path}`);
}

/** What may travel: 64 MiB, with a margin. --limit: other MiB. */
const maxBytes = Number(flags.limit) * 2 ** 20;

/** What travels, and the commands there. */
function showCalls() {
  const tracked = run('git', '-C', root, 'ls-files', '-z').toString().split('\0').filter(Boolean);
  const others = run('git', '-C', root, 'ls-files', '-z', '--others', '--exclude-standard');
  const files = [...tracked, ...others.toString().split('\0').filter(Boolean)].map((path) =>
    join(root, path),
  );
  const [ofTree, ofKit] = [bytesIn(files.filter(existsSync)), bytesIn(filesIn(to))];
  const folder = relative(process.cwd(), to) || '.';
  console.log(
    `travels: ${mebibytes(ofTree)} MiB of files that git does not ignore, and ${folder}/, which it ignores and must be named: ${mebibytes(ofKit)} MiB; ${mebibytes(ofTree + ofKit)} MiB together`,
  );
  console.log('on the machine with the GPU, two commands, each in the tree:');
  console.log('  sh tools/gpu/run.sh first        # limit 210 s: whether all is right; mend what is not');
  console.log(
    '  sh tools/gpu/run.sh figures      # limit 470 s: speed; with the switches that `first` found, if any',
  );
  if (ofTree + ofKit > maxBytes)
    stop(
      `${mebibytes(ofTree + ofKit)} MiB are more than the ${mebibytes(maxBytes)} MiB that may travel: bring fewer architectures, or ignore files`,
    );
}

if (!flags.emulated && !flags.metal && !has('nvcc'))
  stop('nvcc was not found: install the CUDA toolkit, or make a dry run with --emulated');
rmSync(kit, { recursive: true, force: true });
mkdirSync(kit, { recursive: true });
for (const [name, paths] of Object.entries(ours)) bringOurs(name, paths);
cpSync(join(dirname(fileURLToPath(import.meta.url)), 'parts'), join(kit, 'parts'), { recursive: true });
const addon = bringAddon();
if (!flags.metal) {
  bringLibraries(addon);
  if (!flags.emulated) bringProbe();
  bringNode();
  showGlibc(addon);
}
bringGoldens();
writeFacts();
showSizes();
if (flags.metal) console.log(`${relative(process.cwd(), kit) || '.'} is ready: node tools/gpu/mac.mjs check`);
else {
  pack();
  showCalls();
}
