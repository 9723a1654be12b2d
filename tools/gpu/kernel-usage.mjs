// Registers, shared memory and spills of each kernel, as ptxas tells: the marked table of docs/cuda.md.
//   node tools/gpu/kernel-usage.mjs [--arch 90a | all] [--also 80,120] [--check]
// --also: architectures that are compiled too, and not in the table. Two at a time.
// Fails if a kernel spills, if a hot one has a stack frame (an array indexed at run time), or if ptxas gives up on asynchronous tensor products (C7508, C7510, C7514 and others of them).
// The table names the hash of the code that it is of. --check compiles nothing: it fails if the code has another hash.
// Without nvcc the table cannot be written: --check then only says so.
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { replaceMarked } from './marked.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = join(root, 'docs/cuda.md');
const every = ['80', '86', '89', '90a', '100', '120'];
const { values: flags } = parseArgs({
  options: {
    arch: { type: 'string', default: '90a' },
    also: { type: 'string', default: '80' },
    check: { type: 'boolean', default: false },
  },
});
const architectures = flags.arch === 'all' ? every : flags.arch.split(',');
const compiled = [...architectures, ...flags.also.split(',').filter(Boolean)];

/** Kernels that decide the speed of a model: they may not spill, nor keep arrays in a stack frame. A new kernel needs its stem here. */
const hot =
  /^(linear_|gate_up_few_|product_|bf16_rows|attention_|uncached_attention|expert_linear_|expert_gate_up_|add_rms_norm|rms_norm|swiglu|qk_norm_rope|argmax|sample)/;

function nvccVersion() {
  const { stdout, error } = spawnSync('nvcc', ['--version']);
  return error ? undefined : /release ([\d.]+)/.exec(String(stdout))?.[1];
}

/** What ptxas says about all kernels for one architecture. */
async function compile(architecture) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-kernels-'));
  const native = join(root, 'packages/gpu/native');
  const source = join(folder, 'kernels.cu');
  writeFileSync(source, '#include "kernels/all.h"\n');
  const target = `arch=compute_${architecture},code=sm_${architecture}`;
  const args = ['-std=c++17', '-cubin', `-I${native}`, '-gencode', target, '-Xptxas', '-v', source];
  try {
    const output = ['-o', join(folder, 'kernels.cubin')];
    return (await promisify(execFile)('nvcc', [...args, ...output], { maxBuffer: 1 << 28 })).stderr;
  } catch ({ stderr }) {
    console.error(stderr);
    process.exit(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** act(item) of all items in their order, two at a time. */
async function inPairs(items, act) {
  const results = [];
  const left = [...items.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) results[next[0]] = await act(next[1]);
  };
  await Promise.all([work(), work()]);
  return results;
}

/** [kernel, { registers, shared, spills, stack }] of ptxas' output. */
function usageOf(text) {
  const usage = new Map();
  let kernel;
  for (const line of text.split('\n')) {
    const entry = /Compiling entry function '(\w+)'/.exec(line);
    if (entry) {
      kernel = entry[1];
      usage.set(kernel, { registers: 0, shared: 0, spills: 0, stack: 0 });
    }
    const spills = /(\d+) bytes spill stores, (\d+) bytes spill loads/.exec(line);
    if (spills && kernel) usage.get(kernel).spills += Number(spills[1]) + Number(spills[2]);
    const stack = /(\d+) bytes stack frame/.exec(line);
    if (stack && kernel) usage.get(kernel).stack += Number(stack[1]);
    const used = /Used (\d+) registers/.exec(line);
    if (!used || !kernel) continue;
    usage.get(kernel).registers = Number(used[1]);
    usage.get(kernel).shared = Number(/(\d+) bytes smem/.exec(line)?.[1] ?? 0);
    kernel = undefined; // functions that were not inlined follow
  }
  return usage;
}

function faultsOf(architecture, text, usage) {
  const given = text.split('\n').filter((line) => /\(C75\d\d\)/.test(line));
  const slow = [...usage].filter(
    ([kernel, { spills, stack }]) => spills > 0 || (stack > 0 && hot.test(kernel)),
  );
  return [
    ...given,
    ...slow.map(
      ([kernel, { spills, stack }]) =>
        `${kernel} spills ${spills} bytes and has a stack frame of ${stack} bytes on sm_${architecture}`,
    ),
  ];
}

/** linear_few_q4_k: the stem linear_few, the format q4_k. */
function partsOf(kernel) {
  const [, stem, format] = /^(.+?)_(i?q\d\w*|mxfp4|b?f\d+|i8|e4m3)$/.exec(kernel) ?? [];
  return { stem: stem ?? kernel, format };
}

const cellsOf = (usages, kernel) =>
  usages.flatMap((usage) => {
    const { registers, shared, spills } = usage.get(kernel);
    return [registers, shared, spills];
  });

/** Hot kernels. Those of one stem and the same numbers share a row: linear_few q2_k, q4_k. */
function rowsOf(usages) {
  const rows = new Map();
  for (const kernel of [...usages[0].keys()].filter((name) => hot.test(name)).sort()) {
    const { stem, format } = partsOf(kernel);
    const cells = cellsOf(usages, kernel);
    const key = [stem, ...cells].join(' ');
    const row = rows.get(key) ?? { stem, formats: [], cells };
    if (format) row.formats.push(format);
    rows.set(key, row);
  }
  return [...rows.values()].map(({ stem, formats, cells }) => [stem, formats.join(', '), ...cells]);
}

const line = (cells) => `| ${cells.join(' | ')} |`;

function tableOf(usages) {
  const heads = architectures.flatMap((each) => [`sm_${each}: registers`, 'shared bytes', 'spilled bytes']);
  const table = [
    ['hot kernel', 'formats', ...heads],
    ['---', '---', ...heads.map(() => '--:')],
    ...rowsOf(usages),
  ];
  return aligned(table).map(line).join('\n');
}

/** The other kernels in a sentence. */
function othersOf(usages) {
  const others = [...usages[0].keys()].filter((name) => !hot.test(name));
  const most = (name) =>
    Math.max(...usages.flatMap((usage) => others.map((kernel) => usage.get(kernel)[name])));
  const spilling = others.filter((kernel) => usages.some((usage) => usage.get(kernel).spills > 0));
  return `The other ${others.length} kernels: at most ${most('registers')} registers and ${most('shared')} bytes; ${spilling.length > 0 ? spilling.join(', ') : 'none'} spilled.`;
}

/** Cells as wide as the widest of their column, as biome and readers of the source like them. */
function aligned(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => String(row[column]).length)));
  return table.map((row, at) =>
    row.map((cell, column) => {
      const text = String(cell);
      if (at === 1)
        return text.endsWith(':') ? `${'-'.repeat(widths[column] - 1)}:` : '-'.repeat(widths[column]);
      return column > 1 ? text.padStart(widths[column]) : text.padEnd(widths[column]);
    }),
  );
}

/** Headers that nvcc reads. */
const isOfCuda = (path) =>
  /\.h$/.test(path) &&
  !/^kernels\/metal|^dialect\/(host|arguments|declared|metal|metal-simdgroup|simdgroup|error-function)\.h$/.test(
    path,
  );

/** Of the kernels' code, without comments and spaces. */
function hashOfCode() {
  const native = join(root, 'packages/gpu/native');
  const hash = createHash('sha256');
  for (const folder of ['dialect', 'kernels'])
    for (const name of readdirSync(join(native, folder), { recursive: true }).map(String).sort()) {
      const path = `${folder}/${name}`;
      if (!isOfCuda(path)) continue;
      const code = readFileSync(join(native, path), 'utf8').replace(/\/\/.*/g, '');
      hash.update(`${path} ${code.replace(/\s+/g, '')}\n`);
    }
  return hash.digest('hex').slice(0, 16);
}

const ofCode = `The code's hash: ${hashOfCode()}.`;
const old = readFileSync(page, 'utf8');
const version = nvccVersion();

function check() {
  if (old.includes(ofCode)) return console.log('kernel usage: the table of docs/cuda.md is of this code');
  if (version === undefined)
    return console.log(
      'kernel usage: docs/cuda.md has a table of other code; it takes nvcc to write it again',
    );
  console.error('docs/cuda.md is stale: node tools/gpu/kernel-usage.mjs');
  process.exitCode = 1;
}

async function write() {
  const texts = await inPairs(compiled, compile);
  const usages = texts.map(usageOf).slice(0, architectures.length);
  const faults = compiled.flatMap((each, i) => faultsOf(each, texts[i], usageOf(texts[i])));
  for (const fault of faults) console.error(fault);
  const names = architectures.map((each) => `sm_${each}`).join(', ');
  const section = `By nvcc ${version} for ${names}. ${ofCode}\n\n${tableOf(usages)}\n\n${othersOf(usages)}`;
  writeFileSync(page, replaceMarked(old, 'kernel-usage', section));
  process.exitCode = faults.length > 0 ? 1 : 0;
}

if (flags.check) check();
else if (version !== undefined) await write();
else {
  console.error('kernel usage: nvcc is not installed');
  process.exitCode = 1;
}
