// Writes results of tools/gpu/run.sh into docs/cuda-figures.md.
//   node tools/gpu/report.mjs [--print] gpu-results/results.tar        or several tars, or results-*.json
// Results of the emulated GPU and of --small runs are refused: they are not figures. --print: to the output alone, dry runs too.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { replaceMarked } from './marked.mjs';

const page = join(fileURLToPath(new URL('../../', import.meta.url)), 'docs/cuda-figures.md');

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
  ['llama-3.1-8b bf16', 'decode at depth 32768', '80 % explained', '90 % explained'],
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
  facts({ facts }) {
    return `**Machine**\n\n${table(['what', 'found'], Object.entries(facts), 2)}`;
  },
  smoke({ families, switches }) {
    const rows = families.map(({ name, passed, message, switch: found }) => [
      name,
      passed === undefined ? 'absent' : outcome(passed),
      message,
      found === undefined ? '' : found ? shownSwitches(found) : 'no switch helps',
    ]);
    const used = shownSwitches(switches);
    return `**Families of kernels, each in a process of its own**${used && `; what follows has ${used}`}\n\n${table(['family', 'outcome', 'found', 'passes with'], rows, 4)}`;
  },
  check({ checks }) {
    const rows = Object.entries(checks).map(([name, one]) => [name, outcome(one.passed), one.message]);
    return `**Checks**\n\n${table(['check', 'outcome', 'found'], rows, 3)}`;
  },
  sanitize({ version, results }) {
    if (version === null) return '**compute-sanitizer**: not there';
    const rows = results.map(({ tool, passed, message }) => [tool, outcome(passed), message]);
    return `**compute-sanitizer**\n\n${table(['tool', 'outcome', 'found'], rows, 3)}`;
  },
  ceilings({ ceilings: { copyBandwidth, bf16Rate, ...found } }) {
    const rows = [
      ['copy bandwidth', shownCeiling('copyBandwidth', copyBandwidth.value), copyBandwidth.by],
      ['bf16 products', shownCeiling('bf16Rate', bf16Rate.value), bf16Rate.by],
    ];
    for (const by of ['probe', 'torch', 'quern'])
      for (const [name, value] of Object.entries(found[by] ?? {}))
        if (ceilingNames[name]) rows.push([ceilingNames[name][0], shownCeiling(name, value), by]);
    return `**Ceilings**\n\n${table(['ceiling', 'measured', 'by'], rows, 3)}`;
  },
  torch({ torch }) {
    if (!torch) return '**PyTorch**: no figures';
    const rows = torch.works.map(({ name, seconds, failed }) => [name, failed ? 'failed' : micro(seconds)]);
    return `**PyTorch ${torch.version} on the same shapes**, as CUDA graphs\n\n${table(['op', 'time'], rows)}${left(torch.skipped)}`;
  },
  models({ works, steps = [], skipped }, peers) {
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
    return [`**Models**\n\n${table(head, rows, 2)}${left(skipped)}`, ...steps.map(stepSection)].join('\n\n');
  },
  kernels({ kernels, skipped, ceilings }, _, torch) {
    const rows = kernels.map(({ name, seconds, bytesShare, flopsShare, cached, failed }) => {
      if (failed) return [name, 'failed', '', '', ''];
      const shares = [cached ? 'in the cache' : percent(bytesShare), percent(flopsShare)];
      return [name, micro(seconds), ...shares, torchTimeOf(name, torch)];
    });
    const head = ['kernel', 'time', 'of copies', `of bf16 (${ceilings.bf16Rate.by})`, 'PyTorch'];
    return `**Kernels**, the slowest first\n\n${table(head, rows)}${left(skipped)}`;
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
  counters({ counters, skipped = [] }) {
    if (!counters) return '**Counters of the hardware**: ncu is not there';
    const head = [...new Set(counters.flatMap(Object.keys))];
    const rows = counters.map((one) => head.map((name) => one[name] ?? ''));
    return `**Counters of the hardware**, by Nsight Compute\n\n${table(head, rows)}${left(skipped)}`;
  },
};

const shownSwitches = (env) =>
  Object.entries(env)
    .map(([name, value]) => `\`${name}=${value}\``)
    .join(', ');

const bytesRate = (value) => `${(value / 1e12).toFixed(2)} TB/s`;
const linkRate = (value) => `${(value / 1e9).toFixed(1)} GB/s`;
const shortTime = (value) => `${(1e6 * value).toFixed(2)} µs`;
const ceilingNames = {
  copyBandwidth: ['copies', bytesRate],
  readBandwidth: ['reads', bytesRate],
  bf16Rate: ['bf16 products', teraflops],
  devicesBf16Rate: ['bf16 products, as `quern devices`', teraflops],
  mmaSyncRate: ['bf16 products, mma.sync', teraflops],
  upload: ['upload of a weight', linkRate],
  hostToDevice: ['link to the device, pinned', linkRate],
  deviceToHost: ['link back, pinned', linkRate],
  launchSeconds: ['a launch, or an op of 32 numbers', shortTime],
  graphLaunchSeconds: ['an empty kernel in a graph', shortTime],
  dependentLaunchSeconds: ['a dependent launch', shortTime],
  dependentGraphLaunchSeconds: ['a dependent launch in a graph', shortTime],
};
const shownCeiling = (name, value) => (value > 0 ? ceilingNames[name][1](value) : 'unknown');

/** The slowest ops of a step. */
function stepSection({ model, step, failed, milliseconds, count, ops }) {
  if (failed) return `**${model}, ${step}**: the times per op failed: ${failed}`;
  const rows = ops.map((op) => [
    op.name,
    op.count,
    `${op.milliseconds.toFixed(3)} ms`,
    micro(op.milliseconds / 1000 / op.count),
    percent(op.milliseconds / milliseconds),
  ]);
  const head = ['op, all layers together', 'ops', 'time', 'of one', 'share'];
  return `**${model}, ${step}**: ${count} ops, ${time(milliseconds)}, each timed alone\n\n${table(head, rows)}`;
}

/** What the parts say went wrong, each once. */
function problemsOf(results) {
  const run = results.filter(({ part }) => part === 'run').flatMap(({ problems }) => problems);
  const own = results.flatMap(({ part, problems = [], missing = [] }) =>
    part === 'run'
      ? []
      : [...problems, ...missing.map((tool) => `${tool} is not there`)].map((one) => `${part}: ${one}`),
  );
  const all = [...new Set([...run, ...own])];
  return all.length === 0 ? [] : [`**What went wrong**\n\n${all.map((one) => `- ${one}`).join('\n')}`];
}

const left = (skipped) =>
  skipped.length > 0 ? `\n\nNot measured, the time was up: ${skipped.join('; ')}.` : '';

const ending = ({ unfinished }) => (unfinished ? '\n\nThis part did not end.' : '');

/** PyTorch's time of the same op; its caches are of bf16. */
function torchTimeOf(name, torch) {
  const wanted = name.replace(/^attention f16/, 'attention bf16');
  const { seconds } = torch?.works.find((one) => one.name === wanted) ?? {};
  return seconds ? micro(seconds) : '';
}

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
  const torch = results.findLast(({ part }) => part === 'torch')?.torch;
  const parts = Object.keys(sections).flatMap((part) => results.findLast((one) => one.part === part) ?? []);
  const driver = machine.driver ? ` nvidia-smi: ${machine.driver}.` : '';
  const version = peers?.torch ?? torch?.version;
  const shownTorch = version ? ` PyTorch ${version}.` : '';
  const title = `### ${machine.device}\n\n${machine.isa}, ${machine.multiprocessors} multiprocessors, ${(machine.memory / 2 ** 30).toFixed(0)} GiB.${driver} Quern ${machine.commit}, Node ${machine.node}.${shownTorch}`;
  const found = parts.map((one) => sections[one.part](one, peers, torch) + ending(one));
  return [title, ...problemsOf(results), ...found].join('\n\n');
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

const { values: flags, positionals: files } = parseArgs({
  allowPositionals: true,
  options: { print: { type: 'boolean', default: false } },
});
if (files.length === 0) {
  console.error('name results: node tools/gpu/report.mjs gpu-results/results.tar');
  process.exit(2);
}
const results = files.flatMap(read);
const isDryRun = results.some(({ small, machine }) => small || machine?.emulated);
const isMeasured = results.some(({ machine }) => machine);
if (!isMeasured || (isDryRun && !flags.print)) {
  console.error(
    'these are results of a dry run, or of no device: docs/cuda-figures.md has figures of hardware alone',
  );
  if (flags.print) console.log(problemsOf(results).join('\n\n'));
  process.exit(1);
}
const figures = [...groups(results).values()].map(sectionOf).join('\n\n');
if (flags.print) console.log(figures);
else {
  writeFileSync(page, replaceMarked(readFileSync(page, 'utf8'), 'figures', figures));
  console.log('docs/cuda-figures.md has the figures');
}
