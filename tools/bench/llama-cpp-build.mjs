// llama.cpp built for this machine: what it is, and the addon that links it.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('engines/llama-cpp/addon.cc', import.meta.url));

/** A package that depends on the headers of Node-API. */
const require = createRequire(new URL('../../packages/backend-cpu/package.json', import.meta.url));

const headersOf = (name, folder) => join(dirname(require.resolve(`${name}/package.json`)), folder);

const run = (program, args, options) => execFileSync(program, args, { encoding: 'utf8', ...options }).trim();

/** The entry `name` of a CMakeCache.txt. */
function entry(cache, name) {
  const value = new RegExp(`^${name}:[A-Z]+=(.*)$`, 'm').exec(cache)?.[1];
  if (!value) throw new Error(`CMakeCache.txt has no ${name}`);
  return value;
}

/** 'clang 19.1.7' from `clang++ --version`. */
export function compilerName(version) {
  const [, name, number] =
    /(clang) version (\d[\d.]*)/i.exec(version) ?? /(g\+\+|gcc)\S* .*?(\d+\.\d[\d.]*)/i.exec(version) ?? [];
  return name ? `${name.toLowerCase()} ${number}` : version.split('\n')[0];
}

/** Of the release that the sources were made from. */
function versionOf(folder) {
  const file = join(folder, 'llama-config-version.cmake');
  if (!existsSync(file)) return 'unknown';
  return /set\(PACKAGE_VERSION "(.*)"\)/.exec(readFileSync(file, 'utf8'))?.[1] ?? 'unknown';
}

function commitOf(folder) {
  try {
    return run('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder });
  } catch {
    return 'unknown';
  }
}

/** The build in `folder`, the argument of `cmake -B`; `about` goes into the results. */
export function readBuild(folder) {
  const cacheFile = join(folder, 'CMakeCache.txt');
  if (!existsSync(cacheFile))
    throw new Error(`${cacheFile} does not exist; --llama-cpp needs the folder in which llama.cpp was built`);
  const cache = readFileSync(cacheFile, 'utf8');
  const sources = entry(cache, 'CMAKE_HOME_DIRECTORY');
  const compilerPath = entry(cache, 'CMAKE_CXX_COMPILER');
  const libraries = join(resolve(folder), 'bin');
  if (!['so', 'dylib'].some((ending) => existsSync(join(libraries, `libllama.${ending}`))))
    throw new Error(`${libraries} has no libllama.so or libllama.dylib; build the target llama there`);
  return {
    libraries,
    sources,
    compilerPath,
    about: {
      compiler: compilerName(run(compilerPath, ['--version'])),
      version: versionOf(folder),
      commit: commitOf(sources),
      type: entry(cache, 'CMAKE_BUILD_TYPE'),
      native: entry(cache, 'GGML_NATIVE') === 'ON',
    },
  };
}

/** Compiles the addon with the build's compiler; returns its path. It is removed when this process ends. */
export function buildAddon({ libraries, sources, compilerPath }) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const output = join(folder, 'llama-cpp.node');
  const include = [
    headersOf('node-addon-api', ''),
    headersOf('node-api-headers', 'include'),
    join(sources, 'include'),
    join(sources, 'ggml/include'),
  ];
  run(compilerPath, [
    ...['-std=c++17', '-O3', '-march=native', '-ffinite-math-only', '-fno-signed-zeros'],
    ...['-DNAPI_VERSION=8', '-DNODE_ADDON_API_CPP_EXCEPTIONS', '-shared', '-fPIC'],
    ...(process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : []),
    ...include.map((path) => `-I${path}`),
    source,
    ...[`-L${libraries}`, '-lllama', `-Wl,-rpath,${libraries}`, '-o', output],
  ]);
  return output;
}
