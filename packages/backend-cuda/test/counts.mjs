// Sectors and turns of banks that hot kernels take on the emulated GPU, with 132 processors as an H100 has: the marked table of docs/cuda.md.
//   node packages/backend-cuda/test/counts.mjs [--write]      some minutes, and a build with line numbers in build/counted
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { contiguousKvCache, inputBatch } from '@quern/core';
import { replaceMarked } from '../../../tools/gpu/marked.mjs';
import { buildEmulated } from '../../gpu/test/build-emulated.mjs';
import { byteLength, encode } from '../../quant/dist/index.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = fileURLToPath(new URL('../../../docs/cuda.md', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'quern-counts-'));
const file = join(folder, 'counts');

const options = ['-DNVCC=NVCC-NOTFOUND', '-DCMAKE_CXX_FLAGS=-g1'];
Object.assign(process.env, buildEmulated('cuda', root, options, 'build/counted'), {
  QUERN_EMULATED_PROCESSORS: '132',
});
const { createBackend } = await import('../dist/index.js');

/** The result of `use`; then the resource is disposed. */
async function owning(resource, use) {
  try {
    return await use(resource);
  } finally {
    resource.dispose();
  }
}

const floats = (count) => Float32Array.from({ length: count }, (_, i) => Math.sin(i));
const rows = (step, T, K) => step.input(floats(T * K), [T, K]);

function weightOf(backend, format, shape) {
  const count = shape.reduce((a, b) => a * b);
  const bytes = new Uint8Array(byteLength(format, shape));
  encode(format, floats(count), 0, bytes, 0, count);
  return backend.loadWeight({ name: 'w', shape, format, bytes });
}

const linear = (format, T, [N, K]) => [
  `linear ${format} ${T}×[${N}×${K}]`,
  async (backend) => {
    const w = await weightOf(backend, format, [N, K]);
    return (step) => backend.linear(rows(step, T, K), w);
  },
];

/** 32 heads, 8 of keys, of 128 elements: `count` new rows of a sequence behind `depth`. */
const attention = (count, depth) => [
  `attention f16, ${count} rows, depth ${depth}`,
  async (backend) => {
    const [heads, kvHeads, headDim, length] = [32, 8, 128, depth + count];
    const shape = { layers: 1, kvHeads, headDim, dtype: 'f16', context: length, sequences: 1 };
    const cache = contiguousKvCache(backend, shape);
    const sequence = cache.sequence();
    await fill(backend, cache, sequence, length, [kvHeads, headDim]);
    const config = { heads, kvHeads, headDim, scale: headDim ** -0.5, causal: true, bf16: true };
    return (step) => {
      const q = step.input(floats(count * heads * headDim), [count, heads, headDim]);
      return backend.attention(
        q,
        cache.layer(0),
        inputBatch(step, cache.describe([{ sequence, rows: count }])),
        config,
      );
    };
  },
];

/** Keys and values of all rows. */
async function fill(backend, cache, sequence, length, shape) {
  sequence.append(length);
  await owning(backend.step(), (step) => {
    const values = step.input(floats(length * shape[0] * shape[1]), [length, ...shape]);
    const { slots } = inputBatch(step, cache.describe([{ sequence, rows: length }]));
    backend.kvAppend(cache.layer(0), values, values, slots);
    return step.read(backend.add(values, values));
  });
}

const elementwise = (name, T, K, op) => [
  `${name} ${T}×${K}`,
  async (backend) => (step) => op(backend, () => rows(step, T, K)),
];

const cases = [
  linear('bf16', 1, [1024, 4096]),
  linear('q4_k', 1, [1024, 4096]),
  linear('q6_k', 1, [1024, 4096]),
  linear('q8_0', 1, [1024, 4096]),
  linear('bf16', 8, [512, 4096]),
  linear('q4_k', 8, [512, 4096]),
  linear('bf16', 16, [512, 2048]),
  linear('q4_k', 16, [512, 2048]),
  linear('q4_k', 64, [256, 1024]),
  linear('bf16', 256, [512, 512]),
  linear('q4_k', 256, [512, 512]),
  linear('bf16', 1024, [1024, 256]),
  attention(1, 1024),
  attention(64, 0),
  [
    'rms norm 4×4096',
    async (backend) => {
      const w = await weightOf(backend, 'f32', [4096]);
      return (step) => backend.rmsNorm(rows(step, 4, 4096), w, { eps: 1e-6 });
    },
  ],
  elementwise('add', 4, 14336, (backend, x) => backend.add(x(), x())),
  elementwise('swiglu', 4, 14336, (backend, x) => backend.swiglu(x(), x())),
  elementwise('argmax', 1, 151936, (backend, x) => backend.argmax(x())),
];

/** The launches of an op, as the emulated GPU counts them. */
async function countedLaunches(backend, prepare) {
  const record = await prepare(backend);
  writeFileSync(file, '');
  await owning(backend.step(), async (step) => {
    const result = record(step);
    process.env.QUERN_EMULATED_COUNTS = file;
    await step.read(result);
    delete process.env.QUERN_EMULATED_COUNTS;
  });
  return readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).map(JSON.parse);
}

const isShared = ({ access }) => access.startsWith('shared');
const sum = (places, name) => places.reduce((total, place) => total + place[name], 0);
const lost = ({ moved, used }) => moved - used;

/** The innermost line of a kernel's file that holds an address: its function, file and line. */
function lineOf({ file: program, at }) {
  if (!program) return 'copy of a tensor';
  const args = ['-e', program, '-f', '-i', '-C', `0x${(at - 1).toString(16)}`];
  const text = execFileSync('addr2line', args, { encoding: 'utf8' }).trim().split('\n');
  const frames = text.flatMap((line, i) => (i % 2 === 1 ? [line.replace(/ \(discriminator.*/, '')] : []));
  const found =
    frames.find((frame) => frame.includes('/kernels/') && !frame.includes('/dialect/')) ?? frames[0];
  return found.replace(/^.*\/native\//, '').replace('kernels/../', '');
}

/** The place where most is lost, where it is at least a twentieth of all. */
function worstOf(places) {
  const worst = [...places].sort((a, b) => lost(b) - lost(a))[0];
  return worst && lost(worst) > sum(places, 'moved') / 20 ? lineOf(worst) : undefined;
}

const kilobytes = (bytes) => (bytes / 1024).toFixed(bytes < 10240 ? 1 : 0);
const ratio = (a, b) => (b === 0 ? '–' : (a / b).toFixed(2));

function rowOf(op, { kernel, needed, places }) {
  const device = places.filter((place) => !isShared(place));
  const shared = places.filter(isShared);
  const [used, moved] = [sum(device, 'used'), sum(device, 'moved')];
  const worst = [worstOf(device), worstOf(shared)].filter(Boolean);
  return [
    op,
    kernel,
    kilobytes(needed),
    kilobytes(moved),
    ratio(moved, needed),
    ratio(moved, used),
    ratio(sum(shared, 'moved'), sum(shared, 'used')),
    [...new Set(worst)].map((line) => `\`${line}\``).join(', '),
  ];
}

const heads = [
  'op',
  'kernel',
  'KiB needed',
  'moved',
  'moved / needed',
  'moved / used',
  'turns of banks / least',
  'most lost at',
];
const numeric = (column) => column >= 2 && column <= 6;

function tableOf(body) {
  const table = [heads, ...body];
  const widths = heads.map((_, i) => Math.max(...table.map((row) => row[i].length), 3));
  const lines = table.map((row) =>
    row.map((cell, i) => (numeric(i) ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))),
  );
  const rule = widths.map((width, i) => (numeric(i) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return [lines[0], rule, ...lines.slice(1)].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const body = [];
for (const [op, prepare] of cases) {
  const launches = await owning(await createBackend(), (backend) => countedLaunches(backend, prepare));
  for (const launch of launches) {
    body.push(rowOf(op, launch));
    console.log(body.at(-1).join(' | '));
  }
}
rmSync(folder, { recursive: true });
const section = tableOf(body);
if (process.argv.includes('--write'))
  writeFileSync(page, replaceMarked(readFileSync(page, 'utf8'), 'counts', section));
else console.log(`\n${section}`);
