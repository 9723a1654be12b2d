// Perplexity of the demo model in each format on each instruction set, compared with the same weights decoded to F32 on
// the scalar kernels.
//   node tools/measure/perplexity.mjs [--stories 24] [--formats q4_0,q8_0] [--precision standard] [--limit 0.2]
// A prompt is one step; 'token by token' uses steps of one row, which have their own kernels.
import { rmSync } from 'node:fs';
import { createBackend } from '../../packages/backend-cpu/dist/index.js';
import { formatNames, isWritable } from '../../packages/quant/dist/index.js';
import { loadModel } from '../../packages/runtime/dist/index.js';
import { writeDemoFiles } from '../../packages/runtime/test/model/accuracy/demo-files.mjs';
import { heldOutStories, perplexity } from '../../packages/runtime/test/model/accuracy/perplexity.mjs';
import { readArguments } from './arguments.mjs';

const { stories, limit, formats, precision } = readArguments(
  { stories: heldOutStories.length, limit: 0.2 },
  {
    formats: { type: 'string', default: formatNames.filter(isWritable).join() },
    precision: { type: 'string', default: 'standard' },
  },
);
const texts = heldOutStories.slice(0, stories);

/** The instruction sets of this machine. */
async function availableIsas() {
  const available = [];
  for (const isa of [
    'scalar',
    'avx2',
    'avx512',
    'avx512-vnni',
    'avx512-bf16',
    'amx',
    'neon',
    'dotprod',
    'i8mm',
  ])
    try {
      (await createBackend({ isa, threads: 1 })).dispose();
      available.push(isa);
    } catch (error) {
      if (error.code !== 'UNSUPPORTED') throw error;
    }
  return available;
}

async function measure(path, isa, options = {}) {
  const backend = await createBackend({ isa, precision });
  const model = await loadModel(path, { backend, ...options });
  const result = await perplexity(model, texts);
  model.dispose();
  backend.dispose();
  return result;
}

const isas = await availableIsas();
const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
const differences = [];

/** Perplexity, and its relative difference from `reference`. */
function compare(result, reference) {
  const percent = 100 * (result / reference - 1);
  differences.push(Number.isNaN(percent) ? Infinity : Math.abs(percent));
  return `${result.toFixed(4)} (${percent < 0 ? '' : '+'}${percent.toFixed(3)} %)`;
}

row(['format', 'computed', 'F32', ...isas]);
row(['---', '---', ...['F32', ...isas].map(() => '---')]);
for (const format of formats.split(',')) {
  const { folder, encoded, decoded } = await writeDemoFiles(format);
  const reference = await measure(decoded, 'scalar');
  for (const [name, options] of [
    ['prompt', {}],
    ['token by token', { prefillChunk: 1 }],
  ]) {
    const cells = [];
    for (const isa of isas) cells.push(compare(await measure(encoded, isa, options), reference));
    row([format, name, reference.toFixed(4), ...cells]);
  }
  rmSync(folder, { recursive: true });
}
const worst = Math.max(...differences);
console.log(
  `\n${worst <= limit ? 'PASS' : 'FAIL'}  at most ${worst.toFixed(3)} % from F32 over ${texts.length} stories; the limit is ${limit} %`,
);
process.exitCode = worst <= limit ? 0 : 1;
