// Runs what a platform's addons can run on this machine: native tests, the conformance kit, quant's searches, a story, a server; of
// backend-cuda, what it says without a GPU.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from '../setup.mjs';
import { bundleTests } from '../windows/bundle.mjs';
import { captured } from '../windows/captured.mjs';
import { askServer } from '../windows/server.mjs';
import { addonFile } from './platforms.mjs';

const cli = join(root, 'packages/cli/dist/cli.js');
const story = [
  'run',
  'demo',
  '--raw',
  '-p',
  'Once upon a time',
  '-n',
  '60',
  '--temperature',
  '0',
  '--backend',
  'cpu',
];

const binary = (host, platform, name) =>
  host.path(join(root, 'packages', name, 'npm', platform, addonFile(name)));

const environment = (host, platform) => ({
  ...host.env,
  QUERN_CPU_BINARY: binary(host, platform, 'backend-cpu'),
  QUERN_CUDA_BINARY: binary(host, platform, 'backend-cuda'),
});

/** Runs a program of the platform. Throws where it fails. */
function output(host, platform, program, args) {
  const [command, ...rest] = [...host.start, program, ...args];
  const { fault, stdout, stderr } = captured(command, rest, environment(host, platform), 60);
  if (fault === undefined) return stdout;
  throw new Error(`${program} ${args.join(' ')}: ${fault}\n${stdout}\n${stderr}`.trim());
}

/** The folder of the native tests. They are built first; a release builds them on another machine and brings the programs alone. */
function nativePrograms(platform) {
  const folder = join(root, 'packages/backend-cpu/build', platform, 'zig');
  if (existsSync(join(folder, 'CMakeCache.txt')))
    run('cmake', ['--build', folder, '--target', 'native-tests', '--parallel', '2'], { quiet: true });
  return folder;
}

/**
 * The native tests of backend-cpu, linked with the addon's objects: each table of kernels; on Linux the runtime, on Windows its own
 * functions. `passed`: tests of all programs.
 */
export function nativeTests(host, platform) {
  const folder = nativePrograms(platform);
  const fileOf = (program) => join(folder, `${program}${host.suffix}`);
  const test = (program, ...args) => output(host, platform, fileOf(program), args);
  const tables = host.tables ?? test('kernels-test', '--tables').trim().split(/\r?\n/);
  const further = ['runtime', 'windows'].filter((name) => existsSync(fileOf(`${name}-test`)));
  const texts = [
    ...tables.map((table) => test('kernels-test', table)),
    ...further.map((name) => test(`${name}-test`)),
  ];
  return { programs: [...tables, ...further].join(', '), passed: texts.join('\n').match(/^PASS/gm).length };
}

/** { passed, failed, notSupported } of the conformance kit. */
export function conformance(host, platform) {
  const { kit, cpu } = host.modules();
  const args = ['--expose-gc', host.path(kit), host.path(cpu), '--json'];
  const text = output(host, platform, host.runtime, args);
  const { passed, failed, notSupported } = JSON.parse(text);
  return { passed, failed, notSupported };
}

/** The greedy text of the demo model must be that of this machine's own addon. */
export function demoStory(host, platform) {
  const here = spawnSync(process.execPath, [cli, ...story], { encoding: 'utf8' }).stdout;
  const there = output(host, platform, host.runtime, [host.path(host.modules().cli), ...story]);
  if (there !== here) throw new Error(`another story: ${there}\ninstead of: ${here}`);
  return `${story[6]} tokens`;
}

/** quant's test of its addon, bundled for runtimes without Jest: as many passed. */
export async function quantSearches(host, platform) {
  const bundle = join(root, 'packages/quant/build', platform, 'native-test.mjs');
  const test = join(root, 'packages/quant/test/native.test.ts');
  await bundleTests(test, bundle, { platform, urlOf: host.url });
  const text = output(host, platform, host.runtime, [host.path(bundle)]);
  return Number(/(\d+) passed/.exec(text)[1]);
}

/** `quern serve` answers a request with the model's greedy text. */
export async function served(host, platform) {
  const command = [...host.start, host.runtime, host.path(host.modules().cli)];
  const body = { model: 'demo', prompt: 'Once upon a time', max_tokens: 8, temperature: 0 };
  const { status, text } = await askServer(command, environment(host, platform), body);
  if (status !== 200) throw new Error(`quern serve: status ${status}`);
  return text;
}

/** What backend-cuda says without a GPU: the sentence of its refusal; with GPUs, how many there are. */
export function refusal(host, platform) {
  const [script, index] = ['tools/platforms/backend-cuda.cjs', 'packages/backend-cuda/dist/index.cjs'];
  const args = [script, index].map((path) => host.path(join(root, path)));
  return output(host, platform, host.runtime, args).trim();
}
