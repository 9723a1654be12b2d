// Writes results of tools/gpu/run.sh into docs/cuda.md.
//   node tools/gpu/report.mjs gpu-results/results.tar        or several tars, or results-*.json
// Results of the emulated GPU and of --small runs are refused: they are not figures.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { replaceMarked } from './marked.mjs';

const page = join(fileURLToPath(new URL('../../', import.meta.url)), 'docs/cuda.md');

/** Of the project's aims: [model, work, at least, aim], shares of a ceiling or tokens per second. */
const aims = [
  ['llama-3.1-8b bf16', 'decode', '75 %', '90 %'],
  ['llama-3.1-8b q4_k_m', 'decode', '55 %', '80 %'],
  ['llama-3.1-8b q8_0', 'decode', '55 %', '80 %'],
  ['llama-3.1-8b gptq int4', 'decode', '55 %', '80 %'],
  ['qwen3-0.6b bf16', 'decode', '1500 tokens/s', '78 %'],
  ['llama-3.1-8b bf16', 'prefill 2048', '55 %', '80 %'],
  ['llama-3.1-8b q4_k_m', 'prefill 2048', '45 %', '70 %'],
  ['qwen3-8b bf16', 'decode × 16', '1500 tokens/s', '2117 tokens/s'],
  ['qwen3-8b bf16', 'decode × 64', '5000 tokens/s', '6597 tokens/s'],
  ['qwen3-8b bf16', 'decode × 256', '10000 tokens/s', '13567 tokens/s'],
  ['llama-3.1-8b bf16, deep', 'decode at depth 32768', '80 % explained', '90 % explained'],
  ['bge-small f16', '256 texts of 128', '1 M tokens/s', '3 M tokens/s'],
  ['whisper-tiny f16', 'one window, encoder', '1.5 ms', '0.7 ms'],
];
const aimOf = ({ model, work }) =>
  aims.find(([name, what]) => name === model && what === work)?.slice(2) ?? ['', ''];

const blockBytes = 512;

/** [path, bytes] of the files in a tar. */
function filesOfTar(tar) {
  const files = [];
  const textOf = (header, from, to) => header.toString('utf8', from, to).split('\0')[0].trim();
  for (let at = 0; at + blockBytes <= tar.length && tar[at] !== 0; ) {
    const header = tar.subarray(at, at + blockBytes);
    const size = Number.parseInt(textOf(header, 124, 136), 8);
    at += blockBytes;
    files.push([textOf(header, 0, 100), tar.subarray(at, at + size)]);
    at += Math.ceil(size / blockBytes) * blockBytes;
  }
  return files;
}

/** The results in a tar of run.sh, or in one JSON. */
function read(path) {
  const file = readFileSync(path);
  if (!path.endsWith('.tar')) return [JSON.parse(file)];
  return filesOfTar(file)
    .filter(([name]) => /(^|\/)results-\w+\.json$/.test(name))
    .map(([, bytes]) => JSON.parse(bytes));
}

const percent = (share) => (share === undefined ? '' : `${(100 * share).toFixed(1)} %`);
const rate = (value) => (value < 100 ? value.toFixed(1) : value.toFixed(0));
const micro = (seconds) => `${(1e6 * seconds).toFixed(1)} µs`;
const time = (milliseconds) => `${milliseconds.toFixed(milliseconds < 100 ? 2 : 0)} ms`;

const teraflops = (value) => `${(value / 1e12).toFixed(0)} TFLOP/s`;

const outcome = (passed) => (passed === undefined ? 'skipped' : passed ? 'passed' : 'FAILED');

/** A Markdown table; columns from `numbers` on are aligned to the right. */
function table(head, rows, numbers = 1) {
  const all = [head, ...rows.map((row) => row.map(String))];
  const widths = head.map((_, column) => Math.max(3, ...all.map((row) => row[column].length)));
  const pad = (cell, i) => (i >= numbers ? cell.padStart(widths[i]) : cell.padEnd(widths[i]));
  const rule = widths.map((width, i) => (i >= numbers ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(all[0].map(pad)), line(rule), ...all.slice(1).map((row) => line(row.map(pad)))].join('\n');
}

const sections = {
  check({ checks }) {
    const rows = Object.entries(checks).map(([name, one]) => [name, outcome(one.passed), one.message]);
    return `**Checks**\n\n${table(['check', 'outcome', 'found'], rows, 3)}`;
  },
  sanitize({ version, results }) {
    if (version === null) return '**compute-sanitizer**: not there';
    const rows = results.map(({ tool, passed, message }) => [tool, outcome(passed), message]);
    return `**compute-sanitizer**\n\n${table(['tool', 'outcome', 'found'], rows, 3)}`;
  },
  ceilings({ ceilings: { copyBandwidth, bf16Rate, probe, torch, quern } }) {
    const rows = [
      ['copy bandwidth', `${(copyBandwidth.value / 1e12).toFixed(2)} TB/s`, copyBandwidth.by],
      ['bf16 products', teraflops(bf16Rate.value), bf16Rate.by],
      ['bf16 products, linear', teraflops(quern.bf16Rate), 'quern'],
      ['bf16 products, product_bf16_…', teraflops(quern.devicesBf16Rate), 'quern devices'],
      ['an op of 32 numbers', `${(1e6 * quern.launchSeconds).toFixed(2)} µs`, 'quern'],
      ['upload of a weight', `${(quern.upload / 1e9).toFixed(2)} GB/s`, 'quern'],
    ];
    if (torch) rows.push(['bf16 products, matmul', teraflops(torch.bf16Rate), 'torch']);
    if (probe)
      rows.push(
        ['bf16 products, mma.sync', teraflops(probe.mmaSyncRate), 'probe'],
        ['link to the device, pinned', `${(probe.hostToDevice / 1e9).toFixed(1)} GB/s`, 'probe'],
        ['link back, pinned', `${(probe.deviceToHost / 1e9).toFixed(1)} GB/s`, 'probe'],
        ['an empty kernel in a graph', `${(1e6 * probe.graphLaunchSeconds).toFixed(2)} µs`, 'probe'],
      );
    return `**Ceilings**\n\n${table(['ceiling', 'measured', 'by'], rows, 3)}`;
  },
  models({ works, skipped }, peers) {
    const rows = works.map((work) => {
      if (work.failed) return [work.model, work.work, 'failed', '', '', '', '', '', ''];
      const { model, tokensPerSecond, milliseconds, share, of, javascript, explained } = work;
      const shown = explained === undefined ? percent(share) : `${percent(explained)} explained`;
      const script = javascript === undefined ? '' : time(javascript);
      const [least, aim] = aimOf(work);
      return [
        model,
        work.work,
        rate(tokensPerSecond),
        time(milliseconds),
        script,
        `${shown}${of && explained === undefined ? ` of ${of}` : ''}`,
        least,
        aim,
        peerOf(work, peers),
      ];
    });
    const head = [
      'model',
      'work',
      'tokens/s',
      'time',
      'JavaScript',
      'share',
      'at least',
      'aim',
      'PyTorch, best way',
    ];
    return `**Models**\n\n${table(head, rows, 2)}${left(skipped)}`;
  },
  kernels({ kernels, skipped, ceilings }) {
    const rows = kernels.map(({ name, seconds, bytesShare, flopsShare, cached, failed }) =>
      failed
        ? [name, 'failed', '', '']
        : [name, micro(seconds), cached ? 'in the cache' : percent(bytesShare), percent(flopsShare)],
    );
    return `**Kernels**, the slowest first\n\n${table(['kernel', 'time', 'of copies', `of bf16 (${ceilings.bf16Rate.by})`], rows)}${left(skipped)}`;
  },
  choices({ cases, absent, skipped }) {
    const rows = cases.map(({ name, best, gain, ways }) => [
      name,
      best,
      micro(ways[0].seconds),
      gain === undefined ? '' : gain.toFixed(2),
    ]);
    const not = absent.length > 0 ? `\n\nThis GPU does not have: ${absent.join('; ')}.` : '';
    const head = ['case', 'the fastest', 'time', 'times as fast as the kernel chosen'];
    return `**Kernels forced**\n\n${table(head, rows, 2)}${not}${left(skipped)}`;
  },
};

const left = (skipped) =>
  skipped.length > 0 ? `\n\nNot measured, the time was up: ${skipped.join('; ')}.` : '';

const ending = ({ unfinished }) => (unfinished ? '\n\nThis part did not end.' : '');

/** The fastest of PyTorch's ways for the same work. */
function peerOf({ model, work }, peers) {
  const same = (peers?.works ?? []).filter(
    (one) => one.work === work && one.tokensPerSecond && model.startsWith(one.model),
  );
  const best = same.sort((a, b) => b.tokensPerSecond - a.tokensPerSecond)[0];
  return best ? `${rate(best.tokensPerSecond)} (${best.way})` : '';
}

/** Of one device: every part once, the last given wins. */
function sectionOf(results) {
  const { machine } = results.find((one) => one.machine);
  const peers = results.find(({ part }) => part === 'peers')?.peers;
  const parts = Object.keys(sections).flatMap((part) => results.findLast((one) => one.part === part) ?? []);
  const driver = machine.driver ? ` nvidia-smi: ${machine.driver}.` : '';
  const torch = peers ? ` PyTorch ${peers.torch}.` : '';
  const title = `### ${machine.device}\n\n${machine.isa}, ${machine.multiprocessors} multiprocessors, ${(machine.memory / 2 ** 30).toFixed(0)} GiB.${driver} Quern ${machine.commit}, Node ${machine.node}.${torch}`;
  return [title, ...parts.map((one) => sections[one.part](one, peers) + ending(one))].join('\n\n');
}

/** Results without a machine belong to the first device. */
function groups(all) {
  const byDevice = new Map();
  const first = all.find(({ machine }) => machine).machine.device;
  for (const one of all) {
    const name = one.machine?.device ?? first;
    byDevice.set(name, [...(byDevice.get(name) ?? []), one]);
  }
  return byDevice;
}

const files = process.argv.slice(2);
if (files.length === 0) {
  console.error('name results: node tools/gpu/report.mjs gpu-results/results.tar');
  process.exit(2);
}
const results = files.flatMap(read);
const rehearsed = results.filter(({ small, machine }) => small || machine?.emulated);
if (rehearsed.length > 0 || !results.some(({ machine }) => machine)) {
  console.error(
    'these are results of a rehearsal, or of no device: docs/cuda.md has figures of hardware alone',
  );
  process.exit(1);
}
writeFileSync(
  page,
  replaceMarked(
    readFileSync(page, 'utf8'),
    'figures',
    [...groups(results).values()].map(sectionOf).join('\n\n'),
  ),
);
console.log('docs/cuda.md has the figures');
