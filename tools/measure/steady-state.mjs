// System cost of a decoded token: system calls per thread, and allocations of the compute threads (Linux, glibc; needs
// strace and a C compiler).
//   node tools/measure/steady-state.mjs model.gguf [--tokens 256] [--threads 2]
// The child generates 64 tokens, marks the counters, generates `tokens` more, and marks them again: counted is what lies
// between the marks. A load is not: it reads the free memory (13 files in a container) as often as its seconds ask for.
// Allowed: compute threads sleep and wake (futex, preceded by yield); the thread that ends a step writes to the event
// loop's descriptor; Node's queue of settlements allocates a block per 64 settlements. Everything else is a FAIL. Under
// strace threads sleep more often.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promptOf, readArguments } from './arguments.mjs';

const before = 64;
/** Asking for this file is a mark: strace shows the call, count-malloc.c counts between two of them. */
const mark = '/quern-steady-state';

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
  const options = { temperature: 0, maxTokens: before + tokens, ignoreEos: true };
  let [generated, first] = [0, 0];
  for await (const piece of model.generate(prompt, options)) {
    generated += piece.tokens.length;
    if (first > 0 || generated < before) continue;
    first = generated;
    existsSync(mark);
  }
  existsSync(mark);
  console.log(generated - first);
  model.dispose();
  backend.dispose();
}

const add = (counts, name, count) => {
  counts[name] = (counts[name] ?? 0) + count;
};

/** Runs this script in a child process under `command`: the number of tokens between the marks. */
function run(command, env = {}) {
  const self = [process.execPath, fileURLToPath(import.meta.url), path];
  const options = [`--tokens=${tokens}`, `--threads=${threads}`, '--child'];
  const [file, ...args] = [...command, ...self, ...options];
  const stdio = ['ignore', 'pipe', 'inherit'];
  return Number(execFileSync(file, args, { stdio, env: { ...process.env, ...env } }).toString());
}

function needMarks(seen) {
  if (seen !== 2) throw new Error(`the child was to mark twice; ${seen} marks were seen`);
}

/** System calls by 'thread call'. strace writes "1234<name> call(…"; the first process id is the JavaScript thread. */
function systemCalls(folder) {
  const log = join(folder, 'strace');
  const counted = run(['strace', '-f', '-Y', '-o', log]);
  const lines = readFileSync(log, 'utf8').split('\n');
  const [main] = lines[0].split('<');
  const marks = lines.flatMap((line, i) => (line.includes(`access("${mark}"`) ? [i] : []));
  needMarks(marks.length);
  const counts = {};
  for (const line of lines.slice(marks[0] + 1, marks[1])) {
    const [, id, comm, call] = /^(\d+)<([^>]*)>\s+(\w+)\(/.exec(line) ?? [];
    if (call === undefined) continue; // the end of an interrupted call, a signal, an exit
    const thread = id === main ? 'JavaScript' : comm.startsWith('quern-cpu-') ? comm : "Node's others";
    add(counts, `${thread} ${call}`, 1);
  }
  return perToken(counts, counted);
}

function allocations(folder) {
  const library = join(folder, 'count-malloc.so');
  const log = join(folder, 'malloc');
  execFileSync('cc', [
    ...['-O1', '-fPIC', '-shared', '-o', library],
    fileURLToPath(new URL('count-malloc.c', import.meta.url)),
  ]);
  const counted = run([], { LD_PRELOAD: library, COUNT_MALLOC: log, COUNT_MALLOC_MARK: mark });
  const lines = readFileSync(log, 'utf8').split('\n').filter(Boolean);
  const { marks, ...counts } = Object.fromEntries(
    lines.map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]),
  );
  needMarks(marks);
  return perToken(counts, counted);
}

/** Each count per token; below 0.01: noise. */
function perToken(counts, counted) {
  const each = Object.entries(counts).map(([name, count]) => [name, count / counted]);
  return each.filter(([, count]) => count >= 0.01).sort(([a], [b]) => a.localeCompare(b));
}

/** Sleeping, waking and settling. */
const allowed = (name) => /^quern-cpu-\d+ (futex|sched_yield)$|^quern-cpu-0 write$/.test(name);

function measureAll() {
  const folder = mkdtempSync(join(tmpdir(), 'quern-measure-'));
  try {
    const calls = systemCalls(folder);
    const allocated = allocations(folder);
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
