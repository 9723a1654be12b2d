// The lint of a cubin, and the table of counts of docs/cuda.md.
import { hot, tableOf } from '../compiled-kernels.mjs';
import { readCubin } from './cubin.mjs';
import { flowOf } from './flow.mjs';
import { bytesInFlight, countOf, faultsOf, hotLoop } from './rules.mjs';

const ofMemory =
  'add_rms_norm rms_norm add_layer_norm layer_norm swiglu geglu add mul silu gelu_erf gelu_tanh tanh_op';
/** Kernels of memory alone, and the bytes that a thread has to have under way. 2048 threads: 32 KiB a processor; an H100 needs 18, 3.35 TB/s · 0.7 µs / 132. */
const expected = new Map(ofMemory.split(' ').map((kernel) => [kernel, 16]));

/** Sine and cosine of large angles read a table that nothing writes. */
const constants = /^rope_table$/;
/**
 * Divisions allowed in a loop. Of keys: for the block of the table that has d elements. Of rows: for four sums of each part.
 */
const divides = [
  [/^attention_/, 2],
  [/^product_parts$/, 3],
];

/** Faults of all kernels in words. */
export function lint(cubin, given = expected) {
  const { capability, kernels } = readCubin(cubin);
  return kernels.flatMap((kernel) => {
    const { name } = kernel;
    const rules = {
      capability,
      hot: hot.test(name) || given.has(name),
      constants: constants.test(name),
      divisions: divides.find(([kernels]) => kernels.test(name))?.[1] ?? 0,
      expected: given.get(name),
    };
    return faultsOf(flowOf(kernel, capability), rules).map((fault) => `${name}: ${fault}`);
  });
}

const isTensor = ({ name }) => name === 'HMMA' || name === 'HGMMA';
const isProduct = ({ name }) => name === 'FFMA';

/**
 * [kernels, the work of the hot loop, what a thread has done there, from the loop and the pattern's number, its unit].
 * linear_few of blocks: 32 values of 4 columns. linear_rows: a product has 16 × 8 weights of a warp, and H / 16 share them.
 */
const rows = [
  [/^linear_few_(\d)_bf16$/, isProduct, (loop, of) => loop.filter(isProduct).length / of, 'weight'],
  [/^linear_few_(\d)_q4_k$/, isProduct, () => 32 * 4, 'weight'],
  [
    /^linear_rows_(\d+)_(?:bf16|q4_k)$/,
    isTensor,
    (loop, of) => (loop.filter(isTensor).length * 4) / (of / 16),
    'weight',
  ],
  [/^attention_group_(?:64|128)_(?:f16|bf16|i8)$/, isTensor, () => 16, 'key'],
  [
    /^(?:linear_(?:tile|strip)_[13]_q4_k|attention_tile_1_\d+_bf16|product_bf16_.*)$/,
    isTensor,
    (loop) => loop.filter(isTensor).length,
    'tensor product',
  ],
  [/^(?:attention_merge|add_rms_norm|rms_norm|swiglu|add|qk_norm_rope_append_bf16|argmax|sample)$/],
];

const heads = ['instructions', 'shuffles', 'tensor products', 'bytes under way', 'hot loop', 'for each'];

function cellsOf(flow, [pattern, isWork, done, unit]) {
  const { instructions, name } = flow;
  const loop = isWork ? hotLoop(flow, isWork) : [];
  const each = () => (loop.length / done(loop, Number(pattern.exec(name)[1]))).toFixed(1);
  return [
    instructions.filter(({ name }) => name !== 'NOP').length,
    countOf(instructions, 'SHFL'),
    instructions.filter(isTensor).length,
    bytesInFlight(flow),
    loop.length || '',
    loop.length > 0 ? `${each()} a ${unit}` : '',
  ];
}

/** The table of hot kernels. */
export function countsOf(cubin) {
  const { capability, kernels } = readCubin(cubin);
  const flows = kernels.map((kernel) => flowOf(kernel, capability));
  const cells = rows.flatMap((row) => {
    const found = flows.filter(({ name }) => row[0].test(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
    if (found.length === 0)
      throw new Error(`no kernel has a name like ${row[0]}: mend the rows of tools/gpu/sass/lint.mjs`);
    return found.map((flow) => [flow.name, cellsOf(flow, row)]);
  });
  return tableOf(heads, cells);
}
