// Registers, shared memory and spills of each kernel, as ptxas prints them, and counts of its instructions: two marked tables of
// docs/cuda.md; and registers.inc of the emulated GPU, which refuses launches of more threads than have room.
//   node tools/gpu/kernel-usage.mjs [--arch 90a | all] [--also 80,120] [--check]
// --also: architectures that are compiled too, and not in the tables. Two at a time.
// Fails if a kernel spills, if a hot one has a stack frame (an array indexed at run time), if ptxas gives up on asynchronous tensor products (C7508, C7510, C7514 and others of them), and at the faults of sass-lint.mjs.
// The tables name the hash of the code that they are of. --check compiles nothing: it fails if the code has another hash, or faults are listed.
// Without nvcc the tables cannot be written: --check then only says so.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  compile,
  hot,
  inPairs,
  isOfThisCode,
  madeBy,
  nvccVersion,
  page,
  tableOf,
} from './compiled-kernels.mjs';
import { replaceMarked } from './marked.mjs';
import { countsOf, lint } from './sass/lint.mjs';

const registers = new URL('../../packages/gpu/native/emulated/cuda/registers.inc', import.meta.url);
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

const cellsOf = (usages, kernel) =>
  usages.flatMap((usage) => {
    const { registers, shared, spills } = usage.get(kernel);
    return [registers, shared, spills];
  });

function usageTable(usages) {
  const heads = architectures.flatMap((each) => [`sm_${each}: registers`, 'shared bytes', 'spilled bytes']);
  const kernels = [...usages[0].keys()].filter((name) => hot.test(name)).sort();
  return tableOf(
    heads,
    kernels.map((kernel) => [kernel, cellsOf(usages, kernel)]),
  );
}

/** The other kernels in a sentence. */
function othersOf(usages) {
  const others = [...usages[0].keys()].filter((name) => !hot.test(name));
  const most = (name) =>
    Math.max(...usages.flatMap((usage) => others.map((kernel) => usage.get(kernel)[name])));
  const spilling = others.filter((kernel) => usages.some((usage) => usage.get(kernel).spills > 0));
  return `The other ${others.length} kernels: at most ${most('registers')} registers and ${most('shared')} bytes; ${spilling.length > 0 ? spilling.join(', ') : 'none'} spilled.`;
}

/** A block of 1024 threads has room for this many of a thread. */
const registersOfAny = 64;

/** The rows of registers.inc: the most of all architectures. */
function registerRows(usages) {
  const most = (kernel) => Math.max(...usages.map((usage) => usage.get(kernel)?.registers ?? 0));
  const rows = [...usages[0].keys()].map((kernel) => [kernel, most(kernel)]);
  return rows
    .filter(([, count]) => count > registersOfAny)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([kernel, count]) => `{"${kernel}", ${count}},\n`)
    .join('');
}

/** registers.inc with other rows behind its comment. */
const withRows = (text, rows) => text.slice(0, text.indexOf('{')) + rows;

const old = readFileSync(page, 'utf8');
const version = nvccVersion();
const noFaults = 'Faults: none.';

function check() {
  if (isOfThisCode(old, ['kernel-usage', 'kernel-counts'])) {
    if (old.includes(noFaults))
      return console.log('kernel usage: the tables of docs/cuda.md are of this code, without faults');
    console.error(
      'docs/cuda.md lists faults of the kernels: mend them, then node tools/gpu/kernel-usage.mjs',
    );
    process.exitCode = 1;
    return;
  }
  if (version === undefined)
    return console.log(
      'kernel usage: docs/cuda.md has tables of other code; it takes nvcc to write them again',
    );
  console.error('docs/cuda.md is stale: node tools/gpu/kernel-usage.mjs');
  process.exitCode = 1;
}

async function write() {
  const results = await inPairs(compiled, compile);
  const usages = results.map(({ messages }) => usageOf(messages));
  const faults = results.flatMap(({ messages, cubin }, i) => [
    ...faultsOf(compiled[i], messages, usages[i]),
    ...lint(cubin).map((fault) => `${fault} on sm_${compiled[i]}`),
  ]);
  for (const fault of faults) console.error(fault);
  const ofTable = usages.slice(0, architectures.length);
  const usage = `${madeBy(version, architectures)}\n\n${usageTable(ofTable)}\n\n${othersOf(ofTable)}`;
  const found = faults.length > 0 ? `Faults:\n\n${faults.map((fault) => `- ${fault}`).join('\n')}` : noFaults;
  const counts = `${madeBy(version, architectures.slice(0, 1))}\n\n${countsOf(results[0].cubin)}\n\n${found}`;
  writeFileSync(page, replaceMarked(replaceMarked(old, 'kernel-usage', usage), 'kernel-counts', counts));
  writeFileSync(registers, withRows(readFileSync(registers, 'utf8'), registerRows(usages)));
  process.exitCode = faults.length > 0 ? 1 : 0;
}

if (flags.check) check();
else if (version !== undefined) await write();
else {
  console.error('kernel usage: nvcc is not installed');
  process.exitCode = 1;
}
