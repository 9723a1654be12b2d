// Builds for 64-bit Windows on a Debian machine, and runs under wine what needs no GPU: the native tests of native-runtime for Windows;
// the addon of backend-cuda, which must load and name the missing driver; the addon of quant in its tests; backend-cpu in the conformance
// kit; the command line: a story and a server. Needs builds of the packages.
//   node tools/windows.mjs [part…]  parts: native-runtime, backend-cuda, quant, backend-cpu, cli; without names, all
// Needs clang-19, lld-19 and g++-mingw-w64-x86-64-posix; wine64 to run; npm's registry for node.exe.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './setup.mjs';
import { bundleTests } from './windows/bundle.mjs';
import { completion, farModel, installCli, tellStory } from './windows/cli.mjs';
import { attempt, cache, environment, fetchNode, inWine, run, windows, wine } from './windows/wine.mjs';

const toolchain = join(root, 'packages/backend-cpu/cmake/win32-x64.cmake');
const debian = 'apt-get install clang-19 lld-19 g++-mingw-w64-x86-64-posix';

/** Whether this machine has the compiler, the linker and the library. */
function hasCompiler() {
  const works = (tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).status === 0;
  return works('clang++-19') && works('ld.lld-19') && works('x86_64-w64-mingw32-g++-posix');
}

/** The folder with the binaries of a project, by CMake alone. */
function compile(folder, ...options) {
  const build = join(root, folder, 'build/win32-x64');
  run('cmake', ['-S', join(root, folder), '-B', build, `-DCMAKE_TOOLCHAIN_FILE=${toolchain}`, ...options]);
  run('cmake', ['--build', build, '--parallel', '2']);
  return build;
}

/** The same for a package whose script `build-native-win32` builds its addon by cmake-js. */
function compileAddon(name) {
  run('npm', ['run', 'build-native-win32', '--prefix', join(root, 'packages', name)]);
  console.log(`PASS ${name} compiles and links for win32-x64`);
  return join(root, 'packages', name, 'build/win32-x64/Release');
}

function report(ok, what) {
  console.log(`${ok ? 'PASS' : 'FAIL'} ${what}`);
  if (!ok) process.exitCode = 1;
}

/** Runs a package's test files in node.exe; each prints its line. */
async function runTests(name, files, env = {}) {
  let ok = true;
  for (const file of files) {
    const bundle = join(cache, name, `${file}.mjs`);
    await bundleTests(join(root, 'packages', name, 'test', `${file}.test.ts`), bundle);
    const result = attempt(wine, [fetchNode(), inWine(bundle)], { ...environment, ...env });
    console.log(result.output);
    ok &&= result.ok;
  }
  if (!ok) process.exitCode = 1;
}

function testNativeRuntime() {
  const tests = compile('packages/native-runtime/native/test');
  if (wine) console.log(windows(join(tests, 'windows-test.exe'), []));
}

function testCuda() {
  const build = compile('packages/backend-cuda', `-DNVCC=${join(root, 'tools/windows/nvcc.sh')}`);
  console.log('PASS backend-cuda compiles and links for win32-x64; kernels are left out');
  if (!wine) return;
  const index = inWine(join(root, 'packages/backend-cuda/dist/index.cjs'));
  const script = inWine(join(root, 'tools/platforms/backend-cuda.cjs'));
  const addon = inWine(join(build, 'backend_cuda.node'));
  const refused = windows(fetchNode(), [script, index], { QUERN_CUDA_BINARY: addon });
  console.log(`PASS the addon of backend-cuda loads; making a backend rejects:\n     ${refused}`);
}

/** Tests that need neither programs nor devices of Unix. */
const ofQuant = [
  ...['native', 'encode', 'decode', 'f8-blocks', 'half', 'iq8', 'importance', 'quantize', 'worker-pool'],
  ...['ggml', 'gguf-fuzz', 'gguf-hostile', 'gguf-split', 'gguf-write', 'hugging-face', 'safetensors'],
];

async function testQuant() {
  compileAddon('quant');
  if (wine) await runTests('quant', ofQuant);
}

const addonOfCpu = () => join(compileAddon('backend-cpu'), 'backend_cpu.node');

/** The kit on the best instruction set of this machine. */
async function testCpu() {
  const addon = addonOfCpu();
  if (wine) await runTests('backend-cpu', ['conformance'], { QUERN_CPU_BINARY: inWine(addon) });
}

async function testCli() {
  const addon = addonOfCpu();
  if (!wine) return;
  installCli();
  const { same, text } = tellStory(addon);
  report(same, `quern run demo tells the story that it tells here: ${text}`);
  const far = farModel();
  report(tellStory(addon, far).same, `the same from a path of ${far.length} characters, some beyond ASCII`);
  const answer = await completion(addon);
  report(
    answer.status === 200 && answer.text === text,
    `quern serve demo answers with it: ${answer.status} ${answer.text}`,
  );
}

const parts = {
  'native-runtime': testNativeRuntime,
  'backend-cuda': testCuda,
  quant: testQuant,
  'backend-cpu': testCpu,
  cli: testCli,
};

async function main(names) {
  const unknown = names.find((name) => !Object.hasOwn(parts, name));
  if (unknown !== undefined) {
    console.error(`there is no part '${unknown}'; there are ${Object.keys(parts).join(', ')}`);
    process.exit(2);
  }
  if (!hasCompiler()) return console.log(`SKIP no compiler for Windows here: ${debian}`);
  if (!wine) console.log('SKIP no wine, so nothing runs: apt-get install wine64');
  for (const [name, test] of Object.entries(parts))
    if (names.length === 0 || names.includes(name)) await test();
}

await main(process.argv.slice(2));
