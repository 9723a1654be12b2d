// The kernels of backend-cuda as nvcc compiles them, and the tables of docs/cuda.md about them, which name the code that they are of.
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));
const native = join(root, 'packages/gpu/native');
export const page = join(root, 'docs/cuda.md');

/** Kernels that decide the speed of a model: they may not spill, nor keep arrays in a stack frame. A new kernel needs its stem here. */
export const hot =
  /^(linear_|gate_up_few_|product_|bf16_rows|attention_|uncached_attention|expert_linear_|expert_gate_up_|add_rms_norm|norm_fragments|gated_delta|short_conv_|rms_norm|swiglu|qk_norm_rope|argmax|sample)/;

export function nvccVersion() {
  const { stdout, error } = spawnSync('nvcc', ['--version']);
  return error ? undefined : /release ([\d.]+)/.exec(String(stdout))?.[1];
}

/** A source for one architecture, by default all kernels: the cubin, and what ptxas says. Exits if it does not compile. */
export async function compile(architecture, source = '#include "kernels/all.h"\n') {
  const folder = mkdtempSync(join(tmpdir(), 'quern-kernels-'));
  const [input, output] = [join(folder, 'kernels.cu'), join(folder, 'kernels.cubin')];
  writeFileSync(input, source);
  const target = `arch=compute_${architecture},code=sm_${architecture}`;
  const args = [
    '-std=c++17',
    '-cubin',
    `-I${native}`,
    '-gencode',
    target,
    '-Xptxas',
    '-v',
    input,
    '-o',
    output,
  ];
  try {
    const { stderr } = await promisify(execFile)('nvcc', args, { maxBuffer: 1 << 28 });
    return { messages: stderr, cubin: readFileSync(output) };
  } catch ({ stderr }) {
    console.error(stderr);
    process.exit(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** act(item) of all items in their order, two at a time. */
export async function inPairs(items, act) {
  const results = [];
  const left = [...items.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) results[next[0]] = await act(next[1]);
  };
  await Promise.all([work(), work()]);
  return results;
}

/** linear_few_q4_k: the stem linear_few, the format q4_k. */
export function partsOf(kernel) {
  const [, stem, format] = /^(.+?)_(i?q\d\w*|mxfp4|b?f\d+|i8|e4m3)$/.exec(kernel) ?? [];
  return { stem: stem ?? kernel, format };
}

/** Rows of kernels in Markdown. Those of one stem and the same cells share a row: linear_few q2_k, q4_k. */
export function tableOf(heads, kernels) {
  const rows = new Map();
  for (const [kernel, cells] of kernels) {
    const { stem, format } = partsOf(kernel);
    const key = [stem, ...cells].join(' ');
    const row = rows.get(key) ?? { stem, formats: [], cells };
    if (format) row.formats.push(format);
    rows.set(key, row);
  }
  const lines = [...rows.values()].map(({ stem, formats, cells }) => [stem, formats.join(', '), ...cells]);
  const table = [['hot kernel', 'formats', ...heads], ['---', '---', ...heads.map(() => '--:')], ...lines];
  return aligned(table)
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
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

const ofCode = () => `The code's hash: ${hashOfCode()}.`;

/** The line above a table. */
export const madeBy = (version, architectures) =>
  `By nvcc ${version} for ${architectures.map((each) => `sm_${each}`).join(', ')}. ${ofCode()}`;

/** Whether every one of these sections of the page is of the present code. */
export function isOfThisCode(text, sections) {
  const line = ofCode();
  return sections.every((name) =>
    text.slice(text.indexOf(`<!-- ${name} -->`), text.indexOf(`<!-- /${name} -->`)).includes(line),
  );
}
