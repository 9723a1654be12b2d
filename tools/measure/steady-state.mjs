// System cost of a decoded token: system calls per thread, and allocations of the compute threads (Linux, glibc; needs
// strace and a C compiler).
//   node tools/measure/steady-state.mjs model.gguf [--tokens 256] [--threads 2]
// Two runs differ only in the number of tokens; the difference of the counts is the cost of the additional tokens.
// Allowed: compute threads sleep and wake (futex, preceded by yield); the thread that ends a step writes to the event
// loop's descriptor; Node's queue of settlements allocates a block per 64 settlements. Everything else is a FAIL. Under
// strace threads sleep more often.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promptOf, readArguments } from './arguments.mjs';

const { path, tokens, threads, child } = readArguments(
  { tokens: 256, threads: 2 },
  { child: { type: 'boolean' } },
);

async function generate() {
  const { createBackend } = await import('../../packages/backend-cpu/dist/index.js');
  const { loadModel } = await import('../../packages/runtime/dist/index.js');
  const backend = await createBackend({ threads });
  const model = await loadModel(path, { backend, context: 1024 });
  const prompt = promptOf(16, model.config.vocabulary);
  await model.generate(prompt, { temperature: 0, maxTokens: tokens, ignoreEos: true }).result;
  model.dispose();
  backend.dispose();
}

const add = (counts, name, count) => {
  counts[name] = (counts[name] ?? 0) + count;
};

/** Runs this script in a child process under `command`, for `count` tokens. */
function run(command, count, env = {}) {
  const self = [process.execPath, fileURLToPath(import.meta.url), path];
  const options = [`--tokens=${count}`, `--threads=${threads}`, '--child'];
  const [file, ...args] = [...command, ...self, ...options];
  execFileSync(file, args, { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...env } });
}

/** System calls by 'thread call'. strace writes "1234<name> call(…"; the first process id is the JavaScript thread. */
function systemCalls(folder, count) {
  const log = join(folder, 'strace');
  run(['strace', '-f', '-Y', '-o', log], count);
  const counts = {};
  let main;
  for (const line of readFileSync(log, 'utf8').split('\n')) {
    const [, id, comm, call] = /^(\d+)<([^>]*)>\s+(\w+)\(/.exec(line) ?? [];
    if (call === undefined) continue; // the end of an interrupted call, a signal, an exit
    main ??= id;
    const thread = id === main ? 'JavaScript' : comm.startsWith('quern-cpu-') ? comm : "Node's others";
    add(counts, `${thread} ${call}`, 1);
  }
  return counts;
}

function allocations(folder, count) {
  const library = join(folder, 'count-malloc.so');
  const log = join(folder, 'malloc');
  execFileSync('cc', [
    ...['-O1', '-fPIC', '-shared', '-o', library],
    fileURLToPath(new URL('count-malloc.c', import.meta.url)),
  ]);
  run([], count, { LD_PRELOAD: library, COUNT_MALLOC: log });
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]));
}

/** Growth of each count per additional token; below 0.01: noise. */
function perToken(measure, folder) {
  const few = measure(folder, 64);
  const many = measure(folder, 64 + tokens);
  const growth = Object.keys(many).map((name) => [name, (many[name] - (few[name] ?? 0)) / tokens]);
  return growth.filter(([, count]) => count >= 0.01).sort(([a], [b]) => a.localeCompare(b));
}

/** Sleeping, waking and settling. */
const allowed = (name) => /^quern-cpu-\d+ (futex|sched_yield)$|^quern-cpu-0 write$/.test(name);

function measureAll() {
  const folder = mkdtempSync(join(tmpdir(), 'quern-measure-'));
  try {
    const calls = perToken(systemCalls, folder);
    const allocated = perToken(allocations, folder);
    console.log(`model        ${path}, ${threads} threads; per token, from ${tokens} of them`);
    for (const [name, count] of calls) console.log(`${count.toFixed(2).padStart(12)} ${name}`);
    for (const [name, count] of allocated)
      console.log(`${count.toFixed(2).padStart(12)} ${name} allocations`);
    const others = calls.filter(([name]) => name.startsWith('quern-cpu-') && !allowed(name));
    const own = allocated.filter(([name, count]) => name !== 'quern-cpu-0' || count > 2 / 64);
    const passed = others.length === 0 && own.length === 0;
    const what = [...others.map(([name]) => name), ...own.map(([name]) => `${name} allocations`)];
    console.log(
      passed
        ? 'PASS         the compute threads sleep, are woken and settle; they allocate nothing of their own'
        : `FAIL         the compute threads also do: ${what.join(', ')}`,
    );
    process.exitCode = passed ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (child) await generate();
else measureAll();
