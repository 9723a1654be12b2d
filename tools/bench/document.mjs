// Writes the marked section of docs/performance.md and its chart from the results.
//   node document.mjs [results.json] [--document ../../docs/performance.md]
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ratioChart } from './chart.mjs';
import { rowsOf } from './figures.mjs';
import { readResults } from './results.mjs';
import { worksOf } from './works.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const begin = '<!-- tools/bench: begin -->';
const end = '<!-- tools/bench: end -->';

const unique = (values) => [...new Set(values)];

/** Three significant digits; no fraction from 100 on. */
const number = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

const cell = ({ median, lower, upper }) => `${number(median)} (${number(lower)}–${number(upper)})`;

const nameOf = ({ arch, format }) => `${arch} ${format.toUpperCase()}`;

const count = (threads) => `${threads} thread${threads === 1 ? '' : 's'}`;

const settingOf = ({ threads, isa }) =>
  isa === 'best' ? count(threads) : `${count(threads)}, AVX2 only (QUERN_CPU_ISA=avx2)`;

/** The remaining share of the quiet speed, for both engines. */
function keptOf({ measurement, quern, peer }, rows) {
  const { quiet } = measurement.does;
  const before = rows.find(
    (other) =>
      other.measurement.work === quiet &&
      ['arch', 'format', 'threads', 'isa'].every((key) => other.measurement[key] === measurement[key]),
  );
  if (!before) return '';
  const percent = (now, then) => `${((100 * now.median) / then.median).toFixed(0)} %`;
  return `; keeps ${percent(quern, before.quern)}, the peer ${percent(peer, before.peer)}`;
}

/** Works in run order, models in measuring order. */
function table(rows) {
  const order = worksOf(false).map(({ name }) => name);
  const titles = unique(rows.map(({ title }) => title));
  const sorted = rows
    .map((row, at) => ({ row, at }))
    .sort(
      (a, b) =>
        order.indexOf(a.row.measurement.work) - order.indexOf(b.row.measurement.work) ||
        titles.indexOf(a.row.title) - titles.indexOf(b.row.title) ||
        a.at - b.at,
    );
  const lines = sorted.map(({ row }) => {
    const { measurement, title, unit, quern, peer, ratio } = row;
    const kept = measurement.does.busy ? keptOf(row, rows) : '';
    return `| ${title}${kept} | ${nameOf(measurement)} | ${unit} | ${cell(quern)} | ${cell(peer)} | ${ratio.toFixed(2)} |`;
  });
  return [
    '| work | model | unit | Quern | node-llama-cpp | ratio |',
    '| --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

function heading({ machine, peer, measurements }) {
  const kernels = (side) =>
    unique(measurements.filter(({ isa }) => isa === 'best').map((one) => one[side].about.kernels)).join(', ');
  const about = measurements[0].peer.about;
  const turns = Math.min(...measurements.map(({ quern }) => (quern.times ?? quern.loads).length));
  const timed = measurements.filter(({ quern }) => quern.times);
  const flash = timed.filter((one) => one.peer.about.flashAttention).length;
  const idle = Math.max(0, ...timed.flatMap(({ quern, peer: other }) => [quern.idle, other.idle]));
  const days = unique(measurements.map(({ at }) => at.slice(0, 10))).sort();
  return [
    `Machine: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.platform}, Node ${machine.node}; ${days.join(', ')}.`,
    `Quern at ${unique(measurements.map(({ commit }) => commit)).join(', ')}, kernels ${kernels('quern')}. ${peer} with llama.cpp ${about.llamaCpp}, its prebuilt ${kernels('peer')}.`,
    `Medians (and quartiles) of ${turns} turns or more; the ratio is above 1 where Quern is better. The peer has flash attention where that was faster for it (${flash} of ${timed.length} rows). While one worked, the other took at most ${(100 * idle).toFixed(0)} % of a core.`,
  ].join('\n');
}

function chart(rows) {
  const best = rows.filter(({ measurement }) => measurement.isa === 'best');
  const most = Math.max(...best.map(({ measurement }) => measurement.threads));
  const shown = best.filter(
    ({ measurement: { threads, does } }) => threads === most && !does.busy && does.kind !== 'load',
  );
  const panels = unique(shown.map(({ title }) => title)).map((title) => ({
    title,
    bars: shown
      .filter((row) => row.title === title)
      .map(({ measurement, ratio }) => ({ label: nameOf(measurement), value: ratio })),
  }));
  return panels.length > 0 ? { threads: most, svg: ratioChart(panels) } : undefined;
}

function replaceSection(text, section, path) {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${path} has no section between ${begin} and ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${section}\n\n${text.slice(to)}`;
}

const { values: flags, positionals } = parseArgs({
  options: { document: { type: 'string', default: join(here, '../../docs/performance.md') } },
  allowPositionals: true,
});
const source = positionals[0] ?? join(here, 'results.json');
if (!existsSync(source)) {
  console.error(`there are no results at ${source}: run bench.mjs first`);
  process.exit(2);
}
const results = readResults(source);
const rows = results.measurements.flatMap(rowsOf);
const parts = [heading(results)];
const drawing = chart(rows);
const image = `${basename(flags.document, extname(flags.document))}.svg`;
if (drawing) {
  writeFileSync(join(dirname(flags.document), image), drawing.svg);
  parts.push(`![Quern's speed as a multiple of node-llama-cpp's, ${count(drawing.threads)}](${image})`);
}
for (const setting of unique(rows.map(({ measurement }) => settingOf(measurement))))
  parts.push(`### ${setting}`, table(rows.filter(({ measurement }) => settingOf(measurement) === setting)));
const text = readFileSync(flags.document, 'utf8');
writeFileSync(flags.document, replaceSection(text, parts.join('\n\n'), flags.document));
console.log(`${flags.document}: ${rows.length} rows`);
