// Packs every package, installs them by name into folders outside the repository, like users, and uses them with plain
// Node. Prints failures and a line of counts. Third-party dependencies come from npm's registry or cache. Other package managers, runtimes
// and bundlers: tools/installs.mjs.
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildEmulated } from '../../packages/backend-cuda/test/build-emulated.mjs';
import { buildEmulated as buildEmulatedMetal } from '../../packages/backend-metal/test/build-emulated.mjs';
import { faultOfAddon } from '../gpu-addon.mjs';
import { runGuide } from '../guide/run.mjs';
import { root } from '../setup.mjs';
import { checkArchitecture } from './architecture.mjs';
import { contentFaults, foreignSources, linkFaults, packAll, packedIn } from './pack.mjs';
import { serve } from './registry.mjs';
import { installAlone, measure, sizeFaults } from './size.mjs';
import { compileFaults, compileWays, exportFaults, publintFaults } from './types.mjs';

const { build } = createRequire(createRequire(join(root, 'package.json')).resolve('tsup'))('esbuild');
const here = new URL('.', import.meta.url).pathname;
const work = mkdtempSync(join(tmpdir(), 'quern-packed-'));
const [packs, app, home, prefix] = ['packs', 'app', 'home', 'prefix'].map((name) => join(work, name));
for (const folder of [packs, app, home]) mkdirSync(folder);

const libraries = [
  'core',
  'quant',
  'grammar',
  'hub',
  'models',
  'runtime',
  'server',
  'ai-provider',
  'conformance',
  'backend-reference',
  'native-runtime',
  'backend-cpu',
  'backend-cuda',
  'backend-metal',
  'demo-model',
];
const names = libraries.map((name) => `@quern/${name}`);
const counts = { passed: 0, failed: 0 };

function report(name, faults) {
  counts[faults.length === 0 ? 'passed' : 'failed']++;
  if (faults.length > 0) console.log(`   ✗ ${name}\n${faults.map((fault) => `     ${fault}`).join('\n')}`);
}

/** Runs an act; a thrown error becomes a fault. */
async function attempt(name, act) {
  try {
    report(name, (await act()) ?? []);
  } catch (error) {
    report(name, [`${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`]);
  }
}

const emulated = buildEmulated();
const onEmulated = { QUERN_CUDA_LIBRARY: emulated.QUERN_CUDA_LIBRARY };
const onEmulatedMetal = { ...buildEmulatedMetal(), QUERN_METAL_CACHE: '' };
/** No test depends on a GPU of this machine. */
const noDriver = { QUERN_CUDA_LIBRARY: 'libnot-there.so' };
Object.assign(process.env, noDriver);

/** Runs a program without a home folder and without our settings; returns its output. */
async function run(command, args, { cwd = app, env = {}, timeout = 120_000 } = {}) {
  const { PATH, npm_config_cache: cache = join(process.env.HOME ?? home, '.npm') } = process.env;
  const { stdout, stderr } = await promisify(execFile)(command, args, {
    cwd,
    env: {
      PATH,
      HOME: home,
      npm_config_cache: cache,
      npm_config_update_notifier: 'false',
      ...noDriver,
      ...env,
    },
    maxBuffer: 1 << 26,
    timeout,
  });
  return { stdout, stderr };
}

const installTime = 600_000; // ms; registries may be slow

const npmInstall = (origin, args, options) =>
  run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--registry', origin, ...args], {
    timeout: installTime,
    ...options,
  });

/** Runs a file of cases; each case prints a line. */
async function runCases(kind, file) {
  const { stdout } = await run(process.execPath, [file]);
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const { name, error } of lines) report(`${kind}: ${name}`, error === undefined ? [] : [error]);
}

function expectText(text, pattern) {
  return pattern.test(text) ? [] : [`${JSON.stringify(text)} is not like ${pattern}`];
}

const upstream = async () =>
  (await run('npm', ['config', 'get', 'registry'], { env: process.env })).stdout.trim();

/** The prebuilt addon of backend-cuda needs nvcc, and may be older than the sources: the emulated GPU's takes its place. */
function putEmulatedAddon() {
  const ours = join(app, 'node_modules/@quern');
  const platform = readdirSync(ours).find((name) => name.startsWith('backend-cuda-'));
  cpSync(emulated.QUERN_CUDA_BINARY, join(ours, platform, 'backend_cuda.node'));
}

async function installApp(origin) {
  writeFileSync(join(app, 'package.json'), '{"name": "application", "private": true}');
  await npmInstall(origin, [
    'quern',
    '@quern/backend-cpu',
    '@quern/backend-cuda',
    '@quern/backend-metal',
    '@quern/backend-reference',
    '@quern/conformance',
    '@quern/runtime',
    '@quern/demo-model',
    '@quern/grammar',
    '@quern/hub',
    '@quern/server',
    '@quern/ai-provider',
  ]);
  putEmulatedAddon();
  cpSync(join(here, 'cases'), app, { recursive: true });
  for (const kind of ['mp3', 'ogg', 'opus', 'webm'])
    cpSync(join(root, `packages/runtime/test/audio/files/tone.${kind}`), join(app, `tone.${kind}`));
  const entryPoints = [join(root, 'packages/runtime/test/audio/sound-files.ts')];
  await build({ entryPoints, outfile: join(work, 'sound-files.mjs'), format: 'esm', logLevel: 'silent' });
  const { flacFile } = await import(join(work, 'sound-files.mjs'));
  writeFileSync(
    join(app, 'tone.flac'),
    flacFile(Array.from({ length: 1920 }, (_, i) => 0.5 * Math.sin(i / 9))),
  );
}

async function checkPackages(files) {
  const packed = packedIn(packs);
  for (const file of files) {
    report(`contents of ${file}`, contentFaults(packs, file));
    report(`links of ${file}`, linkFaults(packs, file, packed));
  }
  for (const name of [...libraries, 'cli'])
    report(`nothing foreign in ${name}`, foreignSources(join(root, 'packages', name, 'dist')));
  for (const [name, faults] of exportFaults(app, names)) report(`exports of ${name}`, faults);
  for (const name of [...names, 'quern']) await attempt(`publint ${name}`, () => publintFaults(app, name));
  for (const way of compileWays) await attempt(`types for ${way}`, () => compileFaults(app, names, way));
}

async function checkCommand() {
  const quern = join(app, 'node_modules/.bin/quern');
  await attempt('quern run', async () => {
    const { stdout } = await run(quern, [
      'run',
      'demo',
      '--raw',
      '-p',
      'Once upon a time',
      '-n',
      '8',
      '--temperature',
      '0',
    ]);
    return expectText(stdout, /^Once upon a time\S* .+\n$/);
  });
  await attempt('quern devices', async () => {
    const { stdout } = await run(quern, ['devices', '--json']);
    const found = JSON.parse(stdout)
      .devices.flatMap(({ backend = [] }) => backend)
      .join();
    return expectText(found, /^cpu,reference$/);
  });
  for (const kind of ['mp3', 'flac', 'ogg', 'opus', 'webm'])
    await attempt(`quern transcribe ${kind}`, async () => {
      const sound = [
        'transcribe',
        'whisper-esm.gguf',
        `tone.${kind}`,
        '--language',
        'en',
        '--temperatures',
        '0',
      ];
      const { stdout } = await run(quern, [...sound, '--max-tokens', '4', '--json']);
      return expectText(stdout, /"duration":0\.[1-9]/);
    });
}

/** Without those of Windows and macOS, which tools/windows.mjs and tools/platforms.mjs compile. */
const sources = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name.endsWith('.cc'))
    .map(({ parentPath, path = parentPath, name }) => join(path, name))
    .filter((path) => !['windows', 'darwin'].includes(basename(dirname(path))));

/** The sources of a GPU backend are complete, and so is the program that builds it. */
async function checkGpuSources(name) {
  const folder = join(app, 'node_modules/@quern', name);
  await attempt(`the sources of ${name}`, async () => {
    const files = sources(folder);
    const folders = [join(folder, 'gpu'), join(folder, 'native'), join(folder, '../native-runtime/native')];
    const flags = ['-M', '-MF', '/dev/null', '-std=c++20', '-DQUERN_KERNEL_ARGUMENTS'];
    const refused = await run('c++', [...flags, ...folders.map((each) => `-I${each}`), ...files]).catch(
      ({ stderr }) => stderr.split('\n').filter((line) => line.includes('error:')),
    );
    if (files.length < 10) return [`there are only ${files.length}: ${files.join(', ')}`];
    return Array.isArray(refused) ? refused : [];
  });
  await attempt(`the program that builds ${name}`, async () => {
    const refused = await run(join(app, `node_modules/.bin/quern-${name}`), []).catch((error) => error);
    return expectText(refused.stderr, new RegExp(`^usage: quern-${name} build`));
  });
}

/** backend-metal on this system: it says what it needs; it computes on the emulated GPU. */
async function checkMetal() {
  await checkGpuSources('backend-metal');
  await attempt("the text of backend-metal's kernels", async () => {
    const { stdout } = await run(process.execPath, [
      join(app, 'node_modules/@quern/backend-metal/gpu/metal-source.mjs'),
    ]);
    return expectText(stdout, /\[\[kernel\]\] void/);
  });
  for (const file of ['metal.mjs', 'metal.cjs'])
    await attempt(`backend-metal: ${file}`, async () => {
      const { stdout } = await run(process.execPath, [file], { env: onEmulatedMetal });
      return expectText(stdout, /^UNSUPPORTED: Metal was not found: libnot-there\.so: .*\nmetal:0: 4,6\n$/);
    });
  await attempt('without Metal: a line of quern devices', async () => {
    const { stdout } = await run(join(app, 'node_modules/.bin/quern'), ['devices']);
    return expectText(
      stdout,
      /^@quern\/backend-metal: cannot be used: Metal needs macOS 15 or later on Apple silicon; this is .*$/m,
    );
  });
}

/** backend-cuda: it says why there is no device; it computes on the emulated GPU. */
async function checkCuda() {
  const quern = join(app, 'node_modules/.bin/quern');
  await checkGpuSources('backend-cuda');
  report(
    'an addon without kernels is not staged',
    /has no kernels/.test(faultOfAddon(emulated.QUERN_CUDA_BINARY))
      ? []
      : ['the emulated one seems to have kernels'],
  );
  for (const file of ['cuda.mjs', 'cuda.cjs'])
    await attempt(`backend-cuda: ${file}`, async () => {
      const { stdout } = await run(process.execPath, [file], { env: onEmulated });
      return expectText(stdout, /^UNSUPPORTED: no NVIDIA driver: libnot-there\.so: .*\ncuda:0: 4,6\n$/);
    });
  await attempt('without a driver: a line of quern devices, silence in quern run', async () => {
    const { stdout } = await run(quern, ['devices']);
    const { stderr } = await run(quern, ['run', 'demo', '--raw', '-p', 'Once', '-n', '2']);
    const line = /^@quern\/backend-cuda: cannot be used: no NVIDIA driver: libnot-there\.so: .*$/m;
    return [...expectText(stdout, line), ...expectText(stderr, /^(?!.*(cuda|NVIDIA)).* on cpu/s)];
  });
  await attempt('quern devices with the emulated GPU', async () => {
    const { stdout } = await run(quern, ['devices'], { env: onEmulated });
    const line =
      /^cuda:0 \(@quern\/backend-cuda\): emulated GPU, sm_90, 1 multiprocessor, CUDA 13\.0, precision standard$/m;
    return expectText(stdout, line);
  });
  await attempt('quern run on the emulated GPU', async () => {
    const words = ['run', 'demo', '--raw', '-p', 'Once upon a time', '-n', '2', '--temperature', '0'];
    const cuda = await run(quern, [...words, '--backend', 'cuda'], { env: onEmulated });
    const cpu = await run(quern, [...words, '--backend', 'cpu']);
    return cuda.stdout === cpu.stdout ? [] : [`${cuda.stdout} is not ${cpu.stdout}`];
  });
}

/** A third-party backend: installed globally beside quern, as a link, and by path. */
async function checkDiscovery(origin) {
  await run('npm', ['pack', '--pack-destination', work, '--silent'], { cwd: join(app, 'mill') });
  const mill = join(work, 'quern-backend-mill-1.0.0.tgz');
  await npmInstall(origin, ['--global', '--prefix', prefix, 'quern', mill], { cwd: work });
  const quern = (args, cwd) =>
    run(join(prefix, 'bin/quern'), ['run', 'demo', '-p', 'Once', '-n', '2', '--json', ...args], { cwd });
  const runsOn = async (args, cwd) => expectText((await quern(args, cwd)).stdout, /"backend":"mill"/);
  await attempt('global, beside quern', () => runsOn(['--backend', 'mill'], home));
  await attempt('global, the native one by itself', async () =>
    expectText((await quern([], home)).stdout, /"backend":"cpu"/),
  );
  const folder = './lib/node_modules/quern-backend-mill';
  await attempt('by the path of a folder', () => runsOn(['--backend', folder], prefix));
  await attempt('by the path of a module', () => runsOn(['--backend', `${folder}/index.js`], prefix));
  await attempt('an option of its own', () =>
    runsOn(['--backend', 'mill', '--backend-option', 'label=7'], home),
  );
  await attempt('an option of its own, refused', async () => {
    const refused = await quern(['--backend', 'mill', '--backend-option', 'label=seven'], home).catch(
      (error) => error,
    );
    return expectText(refused.stderr, /refuses its options: label is string seven/);
  });
  await attempt('an option for nobody', async () => {
    const refused = await quern(['--backend-option', 'label=7'], home).catch((error) => error);
    return expectText(refused.stderr, /belong to one backend: name it/);
  });
  await attempt('a linked folder', async () => {
    const linked = join(work, 'linked');
    mkdirSync(linked);
    writeFileSync(join(linked, 'package.json'), '{"name": "linked"}');
    await npmInstall(origin, ['--install-links=false', join(prefix, folder)], { cwd: linked });
    return runsOn(['--backend', 'mill'], linked);
  });
  await attempt('no such backend', async () => {
    const refused = await quern(['--backend', 'granite'], home).catch((error) => error);
    return expectText(
      refused.stderr,
      /there is no backend 'granite'.*the path of its folder(?!.*npm install)/,
    );
  });
}

/** @quern/hub is optional: without it names are refused with the command that adds it, in both module systems and in a bundle. */
async function checkWithoutHub(origin) {
  const folder = join(work, 'without-hub');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"name": "without-hub", "private": true}');
  await attempt('names of models without @quern/hub', async () => {
    await npmInstall(origin, ['@quern/runtime'], { cwd: folder });
    if (existsSync(join(folder, 'node_modules/@quern/hub'))) return ['an optional peer was installed'];
    const program = "loadModel('hf:owner/name').catch((error) => console.log(error.code, error.message));";
    writeFileSync(join(folder, 'esm.mjs'), `import { loadModel } from '@quern/runtime';\n${program}`);
    writeFileSync(
      join(folder, 'commonjs.cjs'),
      `const { loadModel } = require('@quern/runtime');\n${program}`,
    );
    const outputs = [];
    for (const file of ['esm.mjs', 'commonjs.cjs'])
      outputs.push((await run(process.execPath, [file], { cwd: folder })).stdout);
    const outfile = join(folder, 'bundle.mjs');
    const bundling = {
      bundle: true,
      platform: 'node',
      format: 'esm',
      minify: true,
      logLevel: 'silent',
      nodePaths: [],
    };
    const { warnings } = await build({ ...bundling, entryPoints: [join(folder, 'esm.mjs')], outfile });
    outputs.push((await run(process.execPath, [outfile], { cwd: folder })).stdout);
    return [
      ...warnings.map(({ text }) => text),
      ...outputs.flatMap((stdout) => expectText(stdout, /^HUB_NOT_FOUND .*npm install @quern\/hub/)),
    ];
  });
}

/** `npm install quern`: what it brings. */
async function checkSize(origin) {
  await attempt('bytes and files of quern', async () => {
    const folder = await installAlone(work, (args, options) => npmInstall(origin, args, options));
    return sizeFaults(measure(folder));
  });
}

/** Folders of the clone, linked into an application: they run, and their types are found. */
async function checkLinkedClone() {
  const folder = join(work, 'of-the-clone');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"name": "of-the-clone", "private": true, "type": "module"}');
  const linked = ['runtime', 'backend-cpu', 'demo-model'];
  await attempt('linked from the clone', async () => {
    await run('npm', ['install', ...linked.map((name) => join(root, 'packages', name))], { cwd: folder });
    const program = `import { loadModel } from '@quern/runtime';
      import { demoModelPath } from '@quern/demo-model';
      const model = await loadModel(demoModelPath);
      console.log((await model.generate('Once', { maxTokens: 2 }).result).reason);
      model.dispose();`;
    writeFileSync(join(folder, 'program.mjs'), program);
    const { stdout } = await run(process.execPath, ['program.mjs'], { cwd: folder });
    const names = linked.map((name) => `@quern/${name}`);
    return [...expectText(stdout, /^length\n$/), ...compileFaults(folder, names, compileWays[0])];
  });
}

async function checkBundles() {
  for (const format of ['cjs', 'esm'])
    await attempt(`bundled by esbuild, ${format}`, async () => {
      const outfile = join(app, 'out', `bundle.${format === 'cjs' ? 'cjs' : 'mjs'}`);
      const entryPoints = [join(app, 'bundled.mjs')];
      const { warnings } = await build({
        entryPoints,
        outfile,
        format,
        bundle: true,
        platform: 'node',
        minify: true,
        logLevel: 'silent',
      });
      const { stdout } = await run(process.execPath, [outfile, app, format], { cwd: home });
      return [...warnings.map(({ text }) => text), ...expectText(stdout, /^well\n$/)];
    });
}

/** A third-party native driver, docs/examples/native-backend: built by cmake-js, tested by the conformance kit. */
async function checkNativeDriver(origin) {
  const folder = join(work, 'slate');
  cpSync(join(root, 'docs/examples/native-backend'), folder, { recursive: true });
  const lines = readdirSync(join(folder, 'native'))
    .map((file) => readFileSync(join(folder, 'native', file), 'utf8').split('\n').length - 1)
    .reduce((sum, count) => sum + count);
  report('a native driver in 300 lines of C++', lines <= 300 ? [] : [`it has ${lines}`]);
  await attempt('a native driver of somebody else’s', async () => {
    const timeout = 600_000;
    await npmInstall(origin, [], { cwd: folder });
    await run(join(folder, 'node_modules/.bin/cmake-js'), ['build'], {
      cwd: folder,
      env: { HOME: process.env.HOME ?? home, CMAKE_BUILD_PARALLEL_LEVEL: '2' },
      timeout,
    });
    const { stdout } = await run(join(folder, 'node_modules/.bin/quern-conformance'), ['.'], {
      cwd: folder,
      timeout,
    });
    return expectText(stdout, /\b0 failed/);
  });
}

/** The programs of docs/guide, as a reader would copy them. */
async function checkGuide() {
  const { passed, failures } = await runGuide(app);
  counts.passed += passed;
  for (const failure of failures) report('docs/guide', [failure]);
}

async function main() {
  const files = packAll(packs);
  const registry = await serve(packs, await upstream());
  try {
    await installApp(registry.origin);
    const tree = JSON.parse(readFileSync(join(app, 'package-lock.json'), 'utf8')).packages;
    report(
      'one copy of core',
      Object.keys(tree)
        .filter((path) => path.endsWith('/@quern/core'))
        .slice(1),
    );
    await checkPackages(files);
    await runCases('ESM', 'esm.mjs');
    await runCases('CommonJS', 'commonjs.cjs');
    await checkCommand();
    await checkCuda();
    await checkMetal();
    await checkSize(registry.origin);
    await checkWithoutHub(registry.origin);
    await checkLinkedClone();
    await checkBundles();
    await checkGuide();
    await checkDiscovery(registry.origin);
    await checkNativeDriver(registry.origin);
    await checkArchitecture({
      ...{ work, run, attempt, expectText },
      npmInstall: (args, options) => npmInstall(registry.origin, args, options),
    });
  } finally {
    registry.close();
    rmSync(work, { recursive: true, force: true });
  }
}

await main();
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
