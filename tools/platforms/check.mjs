// Runs what a platform's addons can run on this machine: native tests, the conformance kit, quant's searches, a story, a server.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run } from '../setup.mjs';
import { bundleTests } from '../windows/bundle.mjs';
import { addonFile } from './platforms.mjs';

const minute = 60_000;
const cli = join(root, 'packages/cli/dist/cli.js');
const kit = join(root, 'packages/conformance/dist/cli.js');
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

const stagedAddon = (name, platform) => join(root, 'packages', name, 'npm', platform, addonFile(name));

const environment = (host, platform) => ({
  ...process.env,
  ...host.env,
  QUERN_CPU_BINARY: stagedAddon('backend-cpu', platform),
});

/** Runs a program of the platform. Throws where it fails. */
function output(host, platform, program, args) {
  const [command, ...rest] = [...host.start, program, ...args];
  const { status, signal, error, stdout, stderr } = spawnSync(command, rest, {
    env: environment(host, platform),
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    timeout: 60 * minute,
  });
  if (status === 0) return stdout;
  throw new Error(
    `${program} ${args.join(' ')}: ${error?.message ?? signal ?? status}\n${stdout}\n${stderr}`.trim(),
  );
}

/**
 * The native tests of backend-cpu, linked with the addon's objects: each table of kernels, and the runtime. They are built first; a
 * release builds them on another machine and brings the programs alone.
 */
export function nativeTests(host, platform) {
  const folder = join(root, 'packages/backend-cpu/build', platform, 'zig');
  if (existsSync(join(folder, 'CMakeCache.txt')))
    run('cmake', ['--build', folder, '--target', 'native-tests', '--parallel', '2'], { quiet: true });
  const program = join(folder, 'kernels-test');
  const tables = output(host, platform, program, ['--tables']).trim().split('\n');
  for (const table of tables) output(host, platform, program, [table]);
  output(host, platform, join(folder, 'runtime-test'), []);
  return [...tables, 'runtime'];
}

/** { passed, failed, notSupported } of the conformance kit. */
export function conformance(host, platform) {
  const text = output(host, platform, host.runtime, [
    '--expose-gc',
    kit,
    join(root, 'packages/backend-cpu'),
    '--json',
  ]);
  const { passed, failed, notSupported } = JSON.parse(text);
  return { passed, failed, notSupported };
}

/** The greedy text of the demo model must be that of this machine's own addon. */
export function demoStory(host, platform) {
  const here = spawnSync(process.execPath, [cli, ...story], { encoding: 'utf8' }).stdout;
  const there = output(host, platform, host.runtime, [cli, ...story]);
  if (there !== here) throw new Error(`another story: ${there}\ninstead of: ${here}`);
  return `${story[6]} tokens`;
}

/** quant's test of its addon, bundled for runtimes without Jest: as many passed. */
export async function quantSearches(host, platform) {
  const bundle = join(root, 'packages/quant/build', platform, 'native-test.mjs');
  const test = join(root, 'packages/quant/test/native.test.ts');
  await bundleTests(test, bundle, { platform, urlOf: (path) => pathToFileURL(path).href });
  const text = output(host, platform, host.runtime, [bundle]);
  return Number(/(\d+) passed/.exec(text)[1]);
}

/** The address that `quern serve` prints. What it prints later is read too: a closed pipe would end it. */
function addressOf(server) {
  let text = '';
  return new Promise((resolve, reject) => {
    server.stderr.on('data', (chunk) => {
      text += chunk;
      const [, address] = /listening on (http:\S+)/.exec(text) ?? [];
      if (address) resolve(address.replace(/,$/, ''));
    });
    server.once('exit', () => reject(new Error(`quern serve ended: ${text}`)));
  });
}

/** `quern serve` answers a request with the model's greedy text. */
export async function served(host, platform) {
  const [command, ...args] = [
    ...host.start,
    host.runtime,
    cli,
    'serve',
    'demo',
    '--port',
    '0',
    '--backend',
    'cpu',
  ];
  const server = spawn(command, args, {
    env: environment(host, platform),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    const body = { model: 'demo', prompt: 'Once upon a time', max_tokens: 8, temperature: 0 };
    const address = await addressOf(server);
    const answer = await fetch(`${address}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { choices } = await answer.json();
    return choices[0].text;
  } finally {
    server.kill();
    await once(server, 'exit');
  }
}
