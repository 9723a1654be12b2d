// node tools/measure/serving.mjs MODEL.gguf [--llama-server PATH] [--node-llama-cpp FOLDER] [--clients 1,4,16,32] [--rounds 3]
// The same load for `quern serve`, llama.cpp's server and node-llama-cpp, one after the other in each round: N clients at
// once, IN + OUT tokens each; then 8 that decode while a prompt of 4096 tokens enters. Keep the machine idle. Build first.
import { fork, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'llama-server': { type: 'string' },
    'node-llama-cpp': { type: 'string' },
    clients: { type: 'string', default: '1,4,16,32' },
    rounds: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '64+64' },
    threads: { type: 'string', default: '2' },
    long: { type: 'string', default: '4096' },
    child: { type: 'boolean', default: false },
  },
});
const [file] = positionals;
if (!file) throw new Error('name a GGUF file: node tools/measure/serving.mjs MODEL.gguf');
const [inputs, outputs] = options.tokens.split('+').map(Number);
const long = Number(options.long);
const threads = Number(options.threads);
const DECODING = 8; // clients that decode while the long prompt enters

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

/** N clients at once: tokens per second of all, milliseconds to the first token and between two tokens. */
async function burst(complete, clients, seed) {
  const start = performance.now();
  const times = await Promise.all(
    Array.from({ length: clients }, (_, i) => complete(prompt(seed + i, inputs), outputs)),
  );
  const seconds = (performance.now() - start) / 1000;
  return {
    rate: (clients * outputs) / seconds,
    first: sorted(times.map((list) => list[0] - start)),
    between: sorted(times.flatMap(gaps)),
  };
}

const gaps = (list) => list.slice(1).map((time, i) => time - list[i]);

/**
 * The time between tokens of clients that decode, before and while a long prompt enters. Two prompts before touch the
 * memory of the cache: an operating system gives pages at the first touch, which takes time of its own.
 */
async function entering(complete, seed) {
  for (const other of [97, 98]) await complete(prompt(seed + other, long), 1);
  const clients = Array.from({ length: DECODING }, () => []);
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
    return await work(overHttp(base));
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
  ({ tokens, sequences }) =>
  (port) =>
    spawn(
      process.execPath,
      [
        fileURLToPath(new URL('../../packages/cli/dist/cli.js', import.meta.url)),
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
  await complete(prompt(7, inputs), 4);
  process.send(await run(task)(complete));
}

/** A burst is measured when one like it has ended: servers run for long. */
const run =
  ({ kind, clients, seed }) =>
  async (complete) => {
    if (kind !== 'burst') return entering(complete, seed);
    await burst(complete, clients, seed + 500);
    return burst(complete, clients, seed);
  };

async function warm(complete) {
  await complete(prompt(7, inputs), 4);
}

const inServer = (start) => (task) =>
  withServer(start(task), async (complete) => {
    await warm(complete);
    return run(task)(complete);
  });

/** Sequences of `tokens` tokens that the cache has room for. Decoding clients need few: two long prompts have room. */
const roomOf = ({ kind, clients }) =>
  kind === 'burst'
    ? { clients, tokens: inputs + outputs, sequences: clients }
    : { clients: DECODING + 1, tokens: long + 500, sequences: 2 };

const engines = {
  quern: inServer((task) => quern(roomOf(task))),
  ...(options['llama-server'] && { 'llama-server': inServer((task) => llamaServer(roomOf(task))) }),
  ...(options['node-llama-cpp'] && { 'node-llama-cpp': (task) => nodeLlamaCpp(roomOf(task), task) }),
};

const range = (values, digits = 0) =>
  values.length === 0 ? '–' : `${sorted(values)[0].toFixed(digits)}–${sorted(values).at(-1).toFixed(digits)}`;

async function main() {
  const rounds = Number(options.rounds);
  console.log(`${inputs} + ${outputs} tokens, ${threads} threads, ${rounds} rounds: lowest–highest`);
  for (const clients of options.clients.split(',').map(Number)) {
    const results = Object.fromEntries(Object.keys(engines).map((name) => [name, []]));
    for (let round = 0; round < rounds; round++)
      for (const [name, engine] of Object.entries(engines))
        results[name].push(await engine({ kind: 'burst', clients, seed: 1000 * round + 100_000 * clients }));
    for (const [name, list] of Object.entries(results))
      console.log(
        `${String(clients).padStart(3)} clients  ${name.padEnd(15)} ${range(list.map((r) => r.rate)).padStart(9)} tokens/s` +
          `  first p50 ${range(list.map((r) => at(r.first, 0.5)))} p99 ${range(list.map((r) => at(r.first, 0.99)))} ms` +
          `  between p50 ${range(list.map((r) => at(r.between, 0.5)))} p99 ${range(list.map((r) => at(r.between, 0.99)))} ms`,
      );
  }
  if (long === 0) return;
  const results = Object.fromEntries(Object.keys(engines).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (const [name, engine] of Object.entries(engines))
      results[name].push(await engine({ kind: 'enter', seed: 77 + 1000 * round }));
  for (const [name, list] of Object.entries(results))
    console.log(
      `${DECODING} decode, ${long} enter  ${name.padEnd(15)} between, quiet p99 ${range(list.map((r) => at(r.quiet, 0.99)))} ms,` +
        ` meanwhile p50 ${range(list.map((r) => at(r.busy, 0.5)))} p99 ${range(list.map((r) => at(r.busy, 0.99)))} ms;` +
        ` the prompt ${range(
          list.map((r) => r.prompt),
          1,
        )} s`,
    );
}

if (options.child) process.once('message', childMain);
else await main();
