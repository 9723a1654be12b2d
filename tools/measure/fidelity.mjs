// How far logits are from the truth, Quern's and llama.cpp's: ‖logits − truth‖ / ‖truth‖ over all positions.
//   node tools/measure/fidelity.mjs [MODEL.gguf …] [--peer LLAMA_CPP] [--precision standard,fast,exact] [--rows 64,24,1]
//     [--formats f16,q8_0] [--shapes llama,qwen3moe] [--draws normal,outliers] [--seeds 3] [--positions 64]
//     [--kv f16|f32] [--flash off|on|auto] [--threads N] [--limit 1.05] [--embeddings]
// The truth: backend-reference on the same file, with an f32 cache. It sums in float64 and rounds once per op to f32: its
// own error is about 1e-7. Without a MODEL: random models of every format, in two shapes and two draws; medians over the
// seeds. `--rows`: tokens per step. Kernels differ by rows: the default is the whole prompt, 24, and token by token; from
// 64 rows backend-cpu may round more coarsely. `--peer`: a source tree of llama.cpp, built in its folder `build` with
// shared libraries. `--kv`: the cache of both engines. `--flash`: llama.cpp's flash attention. It is less accurate, and
// rounds an f32 cache to f16; `auto` is llama.cpp's default.
// The ratio is the error of Quern's default divided by llama.cpp's on the same file: the geometric mean over the seeds, then
// the worst number of rows. A single seed may be 10 % off by chance, so the verdict is per shape and format, over both
// draws. FAIL: such a ratio is above the limit, or embeddings are too far from those of the float weights.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { median } from '../bench/statistics.mjs';
import { promptOf } from './arguments.mjs';
import { compareEmbeddings } from './fidelity/embeddings.mjs';
import { quernLogits, relativeError } from './fidelity/logits.mjs';
import { compilePeer, peerLogits } from './fidelity/peer.mjs';
import { drawNames, isDrawn, modelFormats, shapeNames } from './fidelity/random-models.mjs';

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    peer: { type: 'string' },
    precision: { type: 'string', default: '' },
    rows: { type: 'string' },
    formats: { type: 'string', default: modelFormats.join() },
    shapes: { type: 'string', default: shapeNames.join() },
    draws: { type: 'string', default: drawNames.join() },
    seeds: { type: 'string', default: '3' },
    positions: { type: 'string', default: '64' },
    kv: { type: 'string', default: 'f16' },
    flash: { type: 'string', default: 'off' },
    threads: { type: 'string' },
    limit: { type: 'string', default: '1.05' },
    embeddings: { type: 'boolean', default: false },
  },
});

/** The names in a list with commas; ends the program for a name that is not known. */
function namesIn(option, known) {
  const names = options[option].split(',').filter((name) => name !== '');
  const other = names.find((name) => !known.includes(name));
  if (other === undefined) return names;
  console.error(`--${option}: there is no '${other}'; there are ${known.join(', ')}`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'quern-fidelity-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const ids = promptOf(Number(options.positions), Number.POSITIVE_INFINITY);
const rows = options.rows ? options.rows.split(',').map(Number) : [ids.length, 24, 1];
const threads = options.threads && { threads: Number(options.threads) };
const [kv] = namesIn('kv', ['f16', 'f32']);
const [flash] = namesIn('flash', ['auto', 'on', 'off']);

/** The result of `make`; ends the program with the message of an error. */
async function orEnd(make) {
  try {
    return await make();
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

/** Quern's ways to compute; the first is the default. */
const backends = new Map([['Quern', await orEnd(() => createBackend({ ...threads }))]]);
for (const precision of options.precision.split(',').filter((name) => name !== ''))
  backends.set(`Quern ${precision}`, await orEnd(() => createBackend({ ...threads, precision })));
const program = options.peer && (await orEnd(() => compilePeer(options.peer, folder)));
const peerOptions = { kv, flash, rows, threads: backends.get('Quern').profile.threads };

/** Random blocks have no draw, and cannot hold the token's signal that decides the choice of experts. */
const fits = ({ shape, format, draw }) => isDrawn(format) || (shape === 'llama' && draw === 'normal');

/** Models to measure: { name, group, path } of a file, or { name, group, model } of a random model with all seeds. */
function measured() {
  if (files.length > 0) return files.map((path) => ({ name: basename(path), group: basename(path), path }));
  const [formats, shapes] = [namesIn('formats', modelFormats), namesIn('shapes', shapeNames)];
  const all = shapes.flatMap((shape) =>
    namesIn('draws', drawNames).flatMap((draw) => formats.map((format) => ({ shape, draw, format }))),
  );
  return all.filter(fits).map((model) => ({
    name: `${model.shape}, ${model.draw}, ${model.format}`,
    group: `${model.shape}, ${model.format}`,
    model,
  }));
}

const notes = new Set();

/** Errors of each engine on a file: { engine: [per number of rows] }. */
async function errorsOf(name, path, truth) {
  const errors = {};
  for (const [engine, backend] of backends) {
    errors[engine] = [];
    for (const some of rows)
      errors[engine].push(relativeError(await quernLogits(path, ids, { backend, kv, rows: some }), truth));
  }
  const theirs = program ? peerLogits(program, path, ids, peerOptions) : [];
  if (typeof theirs === 'string') notes.add(`llama.cpp does not compute ${name}: ${theirs}`);
  else errors['llama.cpp'] = theirs.map((logits) => relativeError(logits, truth));
  return errors;
}

/** A thread that makes models and computes the truth, one task after the other. */
class Lane {
  last = Promise.resolve();
  worker = new Worker(new URL('fidelity/truth-worker.mjs', import.meta.url));

  constructor(number) {
    this.own = join(folder, `${number}.gguf`);
  }

  measure(name, path, model) {
    this.last = this.last.then(async () => {
      const file = path ?? this.own;
      this.worker.postMessage({ path: file, model, ids });
      const [truth] = await once(this.worker, 'message');
      return errorsOf(name, file, truth);
    });
    return this.last;
  }
}

const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
const show = (values) => (values.length > 0 ? median(values).toExponential(2) : '–');

const geometricMean = (values) => Math.exp(values.reduce((sum, x) => sum + Math.log(x), 0) / values.length);

/** The worst ratio over the numbers of rows; undefined without the peer. */
function ratioOf(outcomes) {
  if (!outcomes.every((errors) => errors['llama.cpp']?.length > 0)) return undefined;
  const per = rows.map((_, i) => outcomes.map((errors) => errors.Quern[i] / errors['llama.cpp'][i]));
  return Math.max(...per.map(geometricMean));
}
const showRatio = (outcomes) => ratioOf(outcomes)?.toFixed(2) ?? '–';

function printRow(name, outcomes) {
  const cells = [...backends.keys(), 'llama.cpp'].flatMap((engine) =>
    rows.map((_, i) => show(outcomes.flatMap((errors) => errors[engine]?.[i] ?? []))),
  );
  row([name, ...cells, showRatio(outcomes)]);
}

/** Measures all models, two at a time; prints a row for each. Returns the outcomes by group. */
async function measureAll() {
  const lanes = [new Lane(0), new Lane(1)];
  const seeds = Array.from({ length: Number(options.seeds) }, (_, i) => i + 1);
  let next = 0;
  const measure = (name, path, model) => lanes[next++ % lanes.length].measure(name, path, model);
  const works = measured().map(({ name, group, path, model }) => {
    const all = path
      ? [measure(name, path)]
      : seeds.map((seed) => measure(name, undefined, { ...model, seed }));
    return { name, group, pending: Promise.all(all) };
  });
  const byGroup = new Map();
  for (const { name, group, pending } of works) {
    const outcomes = await pending;
    printRow(name, outcomes);
    byGroup.set(group, [...(byGroup.get(group) ?? []), ...outcomes]);
  }
  return byGroup;
}

function printHead() {
  const counts = rows.map((count) => (count === 1 ? '1 row' : `${count} rows`));
  const engines = [...backends.keys(), 'llama.cpp'];
  const heads = engines.flatMap((engine) => counts.map((count) => `${engine}, ${count}`));
  row(['model', ...heads, 'ratio']);
  row(['---', ...heads.map(() => '---'), '---']);
}

/** Prints the ratio of each group. Returns the faults, as texts. */
function compareGroups(byGroup) {
  console.log('\n| models | ratio |\n| --- | --- |');
  for (const [group, outcomes] of byGroup) row([group, showRatio(outcomes)]);
  const farther = [...byGroup].filter(([, outcomes]) => !(ratioOf(outcomes) <= Number(options.limit)));
  if (farther.length === 0) return [];
  const names = farther.map(([group, outcomes]) => `${group} ${showRatio(outcomes)}`).join('; ');
  return [
    `Quern's default is farther from the truth than llama.cpp in ${farther.length} of ${byGroup.size}: ${names}. The limit is ${options.limit}`,
  ];
}

printHead();
const all = await measureAll();
for (const note of notes) console.log(`\n${note}`);
const compared = new Map([...all].filter(([, outcomes]) => ratioOf(outcomes) !== undefined));
const faults = compared.size > 0 ? compareGroups(compared) : [];
if (options.embeddings) faults.push(...(await compareEmbeddings(folder, backends)));

const held = [];
if (compared.size > 0) held.push(`in all ${compared.size} the ratio is at most ${options.limit}`);
if (options.embeddings) held.push('embeddings are within their limit');
for (const fault of faults) console.log(`\nFAIL  ${fault}`);
if (held.length === 0) console.log('\nwithout --peer there is no ratio');
else if (faults.length === 0) console.log(`\nPASS  ${held.join('; ')}`);
for (const backend of backends.values()) backend.dispose();
process.exit(faults.length > 0 ? 1 : 0);
