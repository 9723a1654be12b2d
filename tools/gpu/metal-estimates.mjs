// Bytes and operations of the kernels for GPUs of Apple beside the ceilings of M-series chips, by arithmetic: the marked table of
// docs/metal.md. Nothing is measured.
//   node tools/gpu/metal-estimates.mjs            writes the table
//   node tools/gpu/metal-estimates.mjs --check    fails if the table would change
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { replaceMarked } from './marked.mjs';

const page = fileURLToPath(new URL('../../docs/metal.md', import.meta.url));

/** Figures that Apple and others have published: [bytes per second, operations of floats per second, bytes of the last cache]. */
const chips = {
  M1: [68e9, 2.6e12, 8 << 20],
  'M3 Max': [400e9, 14e12, 48 << 20],
};

/** Bytes of a weight: in the file, on the device (packages/gpu/README.md). */
const formats = {
  bf16: [2, 2],
  q4_k: [144 / 256, 148 / 256],
  q8_0: [272 / 256, 272 / 256],
};

/** Products [N, K] of a layer, layers, the head, heads × d, key heads × d. */
const models = {
  'qwen3-0.6b': {
    products: [
      [2048, 1024],
      [1024, 1024],
      [1024, 1024],
      [1024, 2048],
      [3072, 1024],
      [3072, 1024],
      [1024, 3072],
    ],
    layers: 28,
    head: [151936, 1024],
    keys: 1024,
    queries: 2048,
  },
  'llama-3.1-8b': {
    products: [
      [4096, 4096],
      [1024, 4096],
      [1024, 4096],
      [4096, 4096],
      [14336, 4096],
      [14336, 4096],
      [4096, 14336],
    ],
    layers: 32,
    head: [128256, 4096],
    keys: 1024,
    queries: 4096,
  },
};

/** [rows, columns] of outputs of a block (packages/gpu/native/kernels/metal/linear-tiles.h). */
const tileOf = (rows) => (rows <= 32 ? [16, 64] : [64, 64]);

/**
 * Bytes of memory that a product reads and writes: what it must, and what its kernel takes. Tiles of rows with 4 MiB of x take all
 * columns one after the other: w is read once for each group of them, or stays in half of the cache.
 */
function bytesOfProduct([N, K], rows, format, cache) {
  const [stored, loaded] = formats[format];
  const [x, y, w] = [4 * rows * K, 4 * rows * N, N * K * loaded];
  const must = N * K * stored + x + y;
  if (rows <= 8) return [must, w + x + y];
  const [height] = tileOf(rows);
  const ofGroup = Math.max(1, Math.floor((4 << 20) / (4 * height * K)));
  const groups = w <= cache / 2 ? 1 : Math.ceil(rows / height / ofGroup);
  return [must, w * groups + x + y];
}

/** Keys and values in f16: once per key head, and with several rows once per 32 rows and head, from the cache as above. */
function bytesOfAttention({ keys, queries }, rows, depth, cache) {
  const cached = 4 * depth * keys;
  const own = 8 * rows * queries;
  const times = rows === 1 || cached <= cache / 2 ? 1 : Math.ceil(rows / 32);
  return [cached + own, cached * times + own];
}

/** One step: rows of one sequence at a depth. */
function step(model, rows, depth, format, cache) {
  const sum = [0, 0, 0];
  const add = ([must, taken], operations) => {
    sum[0] += must;
    sum[1] += taken;
    sum[2] += operations;
  };
  for (let layer = 0; layer < model.layers; layer++) {
    for (const shape of model.products)
      add(bytesOfProduct(shape, rows, format, cache), 2 * rows * shape[0] * shape[1]);
    add(
      bytesOfAttention(model, rows, depth, cache),
      (4 * rows * depth * model.queries) / (rows === 1 ? 1 : 2),
    );
  }
  add(bytesOfProduct(model.head, 1, format, cache), 2 * model.head[0] * model.head[1]);
  return sum;
}

const work = [
  ['decode at 1024', 1, 1024],
  ['prefill 512', 512, 512],
];

function rowOf(name, format, [what, rows, depth]) {
  const cells = Object.entries(chips).flatMap(([, [bandwidth, flops, cache]]) => {
    const [must, taken, operations] = step(models[name], rows, depth, format, cache);
    const [memory, arithmetic] = [taken / bandwidth, operations / flops];
    const bound = memory > arithmetic ? 'memory' : 'arithmetic';
    const tokens = Math.round(rows / Math.max(memory, arithmetic));
    return [(taken / 1e9).toFixed(2), (taken / must).toFixed(2), `${tokens}, ${bound}`];
  });
  return `| ${[name, format, what, ...cells].join(' | ')} |`;
}

const names = Object.keys(chips);
const head = [
  'model',
  'weights',
  'step',
  ...names.flatMap((chip) => [`${chip}: GB`, 'of must', 'tokens/s at most, bound by']),
];
const section = [
  `| ${head.join(' | ')} |`,
  `| ${head.map((_, i) => (i < 3 || (i - 3) % 3 === 2 ? '---' : '---:')).join(' | ')} |`,
  ...Object.keys(models).flatMap((name) =>
    Object.keys(formats).flatMap((format) => work.map((each) => rowOf(name, format, each))),
  ),
].join('\n');

const old = readFileSync(page, 'utf8');
const fresh = replaceMarked(old, 'estimates', section);
const squeezed = (text) => text.replace(/ +/g, ' ').replace(/-+/g, '-');
if (!process.argv.includes('--check')) writeFileSync(page, fresh);
else if (squeezed(fresh) !== squeezed(old)) {
  console.error('docs/metal.md is stale: node tools/gpu/metal-estimates.mjs');
  process.exitCode = 1;
}
