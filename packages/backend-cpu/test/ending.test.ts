// Processes and workers end in any state of the backend.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuDriver } from '../src/index.js';
import { allOps, prepare } from './single-op.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-ending-'));
afterAll(() => rmSync(folder, { recursive: true }));
const wordsFile = join(folder, 'words');
const weightsFile = join(folder, 'weights');
writeFileSync(weightsFile, new Uint8Array(1 << 24));
const binary =
  process.env.QUERN_CPU_BINARY ??
  fileURLToPath(new URL('../build/Release/backend_cpu.node', import.meta.url));

/** A plan that takes seconds, for child processes: they have the addon without TypeScript. */
beforeAll(async () => {
  const driver = await cpuDriver({ threads: 1 });
  const x = { shape: [1 << 20], format: 'f32', values: new Float32Array(1 << 20) };
  const sample = { name: '', operands: { x }, attributes: {} };
  const { plan } = await prepare(driver, allOps.silu!, sample, 20_000);
  writeFileSync(wordsFile, new Uint8Array(plan.words.buffer));
  driver.dispose();
});

const prelude = `
  const { NativeBackend } = require(${JSON.stringify(binary)});
  const { readFileSync } = require('node:fs');
  const { Worker } = require('node:worker_threads');
  const create = () => new NativeBackend({ threads: 2 }, (code, message) => Object.assign(new Error(message), { code }));
  const words = () => new Int32Array(Uint8Array.from(readFileSync(${JSON.stringify(wordsFile)})).buffer);
  const start = (backend) => backend.execute(words(), new ArrayBuffer(1 << 22), new ArrayBuffer(1 << 22), new Int32Array(new SharedArrayBuffer(4)), new Int32Array(new SharedArrayBuffer(8)));
`;

/** Runs a script. Throws if the script crashes or does not end. */
function run(script: string): string {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['--expose-gc', '-e', prelude + script],
    {
      encoding: 'utf8',
      timeout: 30_000,
    },
  );
  if (status !== 0) throw new Error(`ended with ${status ?? signal}: ${stderr}`);
  return stdout;
}

/** As `run`, inside a worker. */
const inWorker = (script: string) => `new Worker(${JSON.stringify(prelude + script)}, { eval: true })`;

test('an idle backend, not disposed', () => {
  expect(run(`create(); console.log('end')`)).toBe('end\n');
});

test('two backends, both disposed', () => {
  expect(run(`const b = create(); b.dispose(); create().dispose(); console.log('end')`)).toBe('end\n');
});

test('work in flight keeps the process alive until the work ends', () => {
  expect(run(`create().profile().then((p) => console.log(p.threads))`)).toBe('2\n');
});

test('process.exit in the middle of a plan', () => {
  expect(run(`start(create()); setTimeout(() => { console.log('exit'); process.exit(0); }, 30)`)).toBe(
    'exit\n',
  );
});

test('an uncaught error in the middle of a plan', () => {
  expect(() => run(`start(create()); setTimeout(() => { throw new Error('on purpose'); }, 30)`)).toThrow(
    'on purpose',
  );
});

test('a worker that ends with an idle backend', () => {
  expect(run(`${inWorker('create()')}.on('exit', (code) => console.log(code))`)).toBe('0\n');
});

test('a worker that is terminated in the middle of a plan', () => {
  const worker = inWorker(
    `start(create()); require('node:worker_threads').parentPort.postMessage('started')`,
  );
  expect(
    run(`const w = ${worker};
      w.on('message', () => setTimeout(async () => { await w.terminate(); console.log('terminated'); create(); }, 30))`),
  ).toBe('terminated\n');
});

test('dispose: loads in the queue do not begin', async () => {
  const driver = await cpuDriver({ threads: 1 });
  const x = { shape: [1 << 20], format: 'f32', values: new Float32Array(1 << 20) };
  const sample = { name: '', operands: { x }, attributes: {} };
  const { plan, io } = await prepare(driver, allOps.silu!, sample, 20_000);
  const running = driver.executor.execute(plan, io);
  const bytes = { path: weightsFile, offset: 0, byteLength: 1 << 24 };
  const load = () => driver.loadWeight({ name: 'w', shape: [1 << 11, 1 << 12], format: 'f16', bytes });
  const loads = [running, ...Array.from({ length: 100 }, load)];
  await setImmediate(); // all loads are in the queue
  driver.dispose();
  const codes = (await Promise.allSettled<unknown>(loads)).map((outcome) =>
    outcome.status === 'rejected' ? outcome.reason.code : 'done',
  );
  expect(new Set(codes)).toEqual(new Set(['ABORTED']));
});

test.each(['load', 'capture', 'replay', 'replayChain', 'a chain with a listener', 'ceilings'])(
  'a worker that is terminated in the middle of %s',
  (what) => {
    const loading = `
      const weights = ${JSON.stringify(weightsFile)};
      const slice = { path: weights, offset: 0, byteLength: 1 << 24 };
      const load = () => Array.from({ length: 50 }, () => backend.loadWeight('w', [1 << 11, 1 << 12], 'f16', [[{ ...slice, mmap: false }]]));`;
    const captured = `
      const io = [backend.hostMemory(1 << 22), backend.hostMemory(1 << 22), new Int32Array(new SharedArrayBuffer(4)), new Int32Array(new SharedArrayBuffer(8))];
      const chain = [undefined, Float64Array.of(1, 0, 0, 0), new Int32Array(100), new Int32Array(1)];
      const limits = new Int32Array(new SharedArrayBuffer(4)).fill(100);
      const capture = () => backend.capture(words(), ...io, ...chain);`;
    const begin = {
      load: 'load();',
      capture: 'setInterval(() => capture().then((id) => backend.release(id)), 0);',
      replay: 'capture().then((id) => backend.replay(id));',
      replayChain: 'capture().then((id) => backend.replayChain(id, limits, new Int32Array(0)));',
      'a chain with a listener':
        'capture().then((id) => backend.replayChain(id, limits, new Int32Array(0), undefined, () => {}));',
      ceilings: 'backend.ceilings();',
    }[what];
    const worker = inWorker(
      `const backend = create(); ${loading} ${captured} ${begin} require('node:worker_threads').parentPort.postMessage('started')`,
    );
    expect(
      run(`const w = ${worker};
        w.on('message', () => setTimeout(async () => { await w.terminate(); console.log('terminated'); create(); }, 40))`),
    ).toBe('terminated\n');
  },
);

test('backends in many workers at once', () => {
  const worker = inWorker(`const b = create(); b.profile().then(() => b.dispose())`);
  expect(
    run(
      `let ended = 0; for (let i = 0; i < 4; i++) ${worker}.on('exit', () => { if (++ended === 4) console.log('all') })`,
    ),
  ).toBe('all\n');
});

test('backends without dispose are collected, with their threads', () => {
  const script = `
    const { readdirSync } = require('node:fs');
    const threads = () => readdirSync('/proc/self/task').length;
    const before = threads();
    (() => { for (let i = 0; i < 20; i++) create(); })();
    const most = threads();
    const timer = setInterval(() => {
      gc();
      if (threads() - before >= 10) return;
      clearInterval(timer);
      console.log(most - before, 'collected');
    }, 10);`;
  expect(run(script)).toBe('40 collected\n');
});

test('a backend with work in flight is not collected', () => {
  const script = `
    const times = (p) => p.then(() => console.log('settled'));
    times(create().profile());
    const timer = setInterval(() => gc(), 1);
    setTimeout(() => clearInterval(timer), 60);`;
  expect(run(script)).toBe('settled\n');
});
