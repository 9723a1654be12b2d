// node tools/measure/serving.mjs MODEL.gguf [--quern NAME=CHECKOUT] [--llama-server PATH] [--node-llama-cpp FOLDER] [--rounds 3]
// The same loads for `quern serve` of this checkout and of others (before, after), llama.cpp's server and node-llama-cpp, one after
// the other in each round; each engine begins every other round:
//   --loads 1:64+64,16:256+64   clients at once : tokens in + tokens out
//   --streams 1,8               this many decode while a prompt of --long tokens enters; --long 0: none
// Prints medians of the rounds (lowest–highest), and the median of the rounds' ratios to this checkout: a ratio holds on a busy
// machine, a time does not. `per cpu s`: tokens per second of processor time of the server, Linux alone. Build first.
import { fork, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from './ratios.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quern: { type: 'string', multiple: true, default: [] },
    'llama-server': { type: 'string' },
    'node-llama-cpp': { type: 'string' },
    loads: { type: 'string', default: '1:64+64,4:64+64,16:64+64,32:64+64,16:256+64' },
    streams: { type: 'string', default: '1,8' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '2' },
    long: { type: 'string', default: '4096' },
    child: { type: 'boolean', default: false },
  },
});
const [file] = positionals;
if (!file) throw new Error('name a GGUF file: node tools/measure/serving.mjs MODEL.gguf');
const long = Number(options.long);
const threads = Number(options.threads);
const rounds = Number(options.rounds);

/** '16:256+64': 16 clients, 256 tokens in, 64 out. */
const loads = options.loads
  .split(',')
  .filter(Boolean)
  .map((text) => {
    const [clients, inputs, outputs] = text.split(/[:+]/).map(Number);
    if (!(clients > 0 && inputs > 0 && outputs > 1))
      throw new Error(`--loads: '${text}' is not CLIENTS:IN+OUT, as 16:64+64`);
    return { kind: 'burst', clients, inputs, outputs };
  });
const entries = (long > 0 ? options.streams.split(',').filter(Boolean) : []).map((count) => ({
  kind: 'enter',
  streams: Number(count),
}));

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
const sorted = (values) => [...values].sort((a, b) => a - b);

/** Tokens that no other prompt shares: no cache helps. */
function prompt(seed, length) {
  let state = (seed * 2654435761) >>> 0;
  return Array.from({ length }, () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return 1000 + (state % 140_000);
  });
}

/** Clients at once: tokens per second of all, milliseconds to the first token and between two tokens. */
async function burst(complete, { clients, inputs, outputs }, seed) {
  const start = performance.now();
  const times = await Promise.all(
    Array.from({ length: clients }, (_, i) => complete(prompt(seed + i, inputs), outputs)),
  );
  const seconds = (performance.now() - start) / 1000;
  return {
    rate: (clients * outputs) / seconds,
    tokens: clients * outputs,
    first: sorted(times.map((list) => list[0] - start)),
    between: sorted(times.flatMap(gaps)),
  };
}

const gaps = (list) => list.slice(1).map((time, i) => time - list[i]);

/**
 * The time between tokens of clients that decode, before and while a long prompt enters. Two prompts before touch the
 * memory of the cache: an operating system gives pages at the first touch, which takes time of its own.
 */
async function entering(complete, { streams }, seed) {
  for (const other of [97, 98]) await complete(prompt(seed + other, long), 1);
  const clients = Array.from({ length: streams }, () => []);
  const decoding = clients.map((list, i) => complete(prompt(seed + i, 16), 400, (time) => list.push(time)));
  while (clients.some((list) => list.length < 50)) await new Promise((resolve) => setTimeout(resolve, 20));
  const start = performance.now();
  const [end] = await complete(prompt(seed + 99, long), 1);
  await Promise.all(decoding);
  const within = (from, to) =>
    sorted(
      clients.flatMap((list) => {
        const ends = list.slice(1);
        return gaps(list).filter((_, i) => ends[i] > from && ends[i] - gaps(list)[i] < to);
      }),
    );
  return { quiet: within(clients[0][20], start), busy: within(start, end), prompt: (end - start) / 1000 };
}

/** Completes over HTTP; gives the time of each token. A chunk is a token: texts of several are counted once, as by every client. */
const overHttp =
  (base) =>
  async (ids, count, onToken = () => {}) => {
    const body = {
      model: basename(file, '.gguf'),
      prompt: ids,
      max_tokens: count,
      temperature: 0,
      stream: true,
      ignore_eos: true,
    };
    const response = await fetch(`${base}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    const times = [];
    const decoder = new TextDecoder();
    for await (const bytes of response.body) {
      const now = performance.now();
      for (const _ of decoder.decode(bytes, { stream: true }).matchAll(/^data: \{/gm)) {
        times.push(now);
        onToken(now);
      }
    }
    return times;
  };

/** Processor time of a process and its threads so far, in clock ticks of 10 ms; NaN outside Linux. */
function processorSeconds(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return NaN;
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function withServer(start, work) {
  const port = await freePort();
  const child = start(port);
  const base = `http://127.0.0.1:${port}`;
  try {
    for (let tries = 0; ; tries++) {
      const ready = await fetch(`${base}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (ready) break;
      if (tries > 600 || child.exitCode !== null) throw new Error(`no server: ${child.spawnargs.join(' ')}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return await work(overHttp(base), () => processorSeconds(child.pid));
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}

/** Tokens of a sequence, with room for what engines round. */
const context = (tokens) => Math.ceil((tokens + 16) / 64) * 64;
const silent = { stdio: 'ignore' };

const quern =
  (checkout) =>
  ({ tokens, sequences }) =>
  (port) =>
    spawn(
      process.execPath,
      [
        resolve(checkout, 'packages/cli/dist/cli.js'),
        'serve',
        file,
        '--port',
        port,
        '--threads',
        threads,
        '--backend',
        'cpu',
        '--no-log',
        '--ctx',
        context(tokens),
        '--sequences',
        sequences,
      ].map(String),
      silent,
    );

const llamaServer =
  ({ clients, tokens, sequences }) =>
  (port) =>
    spawn(
      options['llama-server'],
      [
        '-m',
        file,
        '--port',
        port,
        '-t',
        threads,
        '-tb',
        threads,
        '-np',
        clients,
        '-c',
        context(tokens) * sequences,
        '-kvu',
      ].map(String),
      silent,
    );

/** A child of this file runs node-llama-cpp, so that its threads end with it. */
const nodeLlamaCpp = ({ clients, tokens }, task) =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [...process.argv.slice(2), '--child']);
    child.once('message', (result) => {
      child.kill('SIGKILL');
      resolve(result);
    });
    child.once('exit', (code) => reject(new Error(`node-llama-cpp ended with ${code}`)));
    child.send({ clients, tokens, task });
  });

async function childMain({ clients, tokens, task }) {
  const { getLlama } = await import(`${options['node-llama-cpp']}/dist/index.js`);
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: threads });
  const model = await llama.loadModel({ modelPath: file });
  const context = await model.createContext({
    sequences: clients,
    contextSize: tokens + 16,
    batchSize: 512,
    threads,
  });
  const free = []; // a disposed sequence's room comes back late
  const complete = async (ids, count, onToken = () => {}) => {
    const sequence = free.pop() ?? context.getSequence();
    const times = [];
    for await (const _ of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
      times.push(performance.now());
      onToken(times.at(-1));
      if (times.length >= count) break;
    }
    await sequence.clearHistory();
    free.push(sequence);
    return times;
  };
  await complete(prompt(7, 16), 4);
  process.send(await run(task)(complete, () => processorSeconds(process.pid)));
}

/** A burst is measured when one like it has ended: servers run for long. */
const run = (task) => async (complete, processor) => {
  if (task.kind === 'enter') return entering(complete, task, task.seed);
  await burst(complete, task, task.seed + 500);
  const start = processor();
  const result = await burst(complete, task, task.seed);
  return { ...result, perProcessorSecond: result.tokens / (processor() - start) };
};

const inServer = (start) => (task) =>
  withServer(start(roomOf(task)), async (complete, processor) => {
    await complete(prompt(7, 16), 4);
    return run(task)(complete, processor);
  });

/** Sequences of `tokens` tokens that the cache has room for. Decoding clients need few: two long prompts have room. */
const roomOf = ({ kind, clients, inputs, outputs, streams }) =>
  kind === 'burst'
    ? { clients, tokens: inputs + outputs, sequences: clients }
    : { clients: streams + 1, tokens: long + 500, sequences: 2 };

const here = fileURLToPath(new URL('../..', import.meta.url));
const others = options.quern.map((text) => {
  const [name, checkout] = text.split('=');
  if (!checkout) throw new Error(`--quern: '${text}' is not NAME=CHECKOUT`);
  return [name, inServer(quern(checkout))];
});
const engines = {
  quern: inServer(quern(here)),
  ...Object.fromEntries(others),
  ...(options['llama-server'] && { 'llama-server': inServer(llamaServer) }),
  ...(options['node-llama-cpp'] && { 'node-llama-cpp': (task) => nodeLlamaCpp(roomOf(task), task) }),
};

/** Results of each engine, a list per engine with one result per round. */
async function measure(task) {
  const results = Object.fromEntries(Object.keys(engines).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 ? Object.entries(engines).reverse() : Object.entries(engines);
    for (const [name, engine] of order)
      results[name].push(
        await engine({ ...task, seed: 1000 * round + 100_000 * (task.clients ?? task.streams) }),
      );
  }
  return results;
}

/** '12.3 (11.0–14.1)', then the median of the rounds' ratios to the first engine: '×0.45'. */
function figure(results, name, value, digits = 0) {
  const list = results[name].map(value);
  const ratios = list.map((v, round) => v / value(results.quern[round]));
  const [low, high] = [Math.min(...list), Math.max(...list)];
  const text = `${median(list).toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
  return name === 'quern' ? text : `${text} ×${median(ratios).toFixed(2)}`;
}

function printTable(title, results, columns) {
  console.log(
    `\n| ${[title, ...columns.map(([heading]) => heading)].join(' | ')} |\n|${' --- |'.repeat(columns.length + 1)}`,
  );
  for (const name of Object.keys(results))
    console.log(
      `| ${[name, ...columns.map(([, value, digits]) => figure(results, name, value, digits))].join(' | ')} |`,
    );
}

const burstColumns = [
  ['tokens/s', (r) => r.rate, 1],
  ['per cpu s', (r) => r.perProcessorSecond, 1],
  ['first token p50, ms', (r) => at(r.first, 0.5)],
  ['of the last request', (r) => r.first.at(-1)],
  ['between tokens p50, ms', (r) => at(r.between, 0.5), 1],
  ['p99', (r) => at(r.between, 0.99), 1],
];
const entryColumns = [
  ['quiet p50, ms', (r) => at(r.quiet, 0.5), 1],
  ['quiet p99', (r) => at(r.quiet, 0.99), 1],
  ['meanwhile p50', (r) => at(r.busy, 0.5), 1],
  ['meanwhile p99', (r) => at(r.busy, 0.99), 1],
  ['the prompt, s', (r) => r.prompt, 1],
];

async function main() {
  console.log(
    `${basename(file)}, ${threads} threads, ${rounds} rounds: median (lowest–highest) ×ratio to quern`,
  );
  for (const load of loads)
    printTable(
      `${load.clients} clients, ${load.inputs} + ${load.outputs}`,
      await measure(load),
      burstColumns,
    );
  for (const entry of entries)
    printTable(`${entry.streams} decode, ${long} enter`, await measure(entry), entryColumns);
}

if (options.child) process.once('message', childMain);
else await main();
