// Writes the marked section of docs/performance.md and its chart from the results.
//   node document.mjs [results.json] [--document ../../docs/performance.md]
// Results of another machine, results-NAME.json, have a section 'tools/bench NAME' and a chart performance-NAME.svg.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ratioChart } from './chart.mjs';
import { rowsOf } from './figures.mjs';
import { readResults } from './results.mjs';
import { worksOf } from './works.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

const unique = (values) => [...new Set(values)];

/** Three significant digits; no fraction from 100 on. */
const number = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

const cell = (figures) =>
  figures ? `${number(figures.median)} (${number(figures.lower)}–${number(figures.upper)})` : '–';

const ratioCell = (ratio) => ratio?.toFixed(2) ?? '–';

const builtName = 'llama.cpp built for this machine';

const nameOf = ({ arch, format }) => `${arch} ${format.toUpperCase()}`;

const count = (threads) => `${threads} thread${threads === 1 ? '' : 's'}`;

const settingOf = ({ threads, isa }) =>
  isa === 'best' ? count(threads) : `${count(threads)}, AVX2 only (QUERN_CPU_ISA=avx2)`;

/** The remaining share of the quiet speed, for each engine. */
function keptOf({ measurement, quern, peer, built }, rows) {
  const { quiet } = measurement.does;
  const before = rows.find(
    (other) =>
      other.measurement.work === quiet &&
      ['arch', 'format', 'threads', 'isa'].every((key) => other.measurement[key] === measurement[key]),
  );
  if (!before) return '';
  const percent = (now, then) => `${((100 * now.median) / then.median).toFixed(0)} %`;
  const kept = [
    `keeps ${percent(quern, before.quern)}`,
    `node-llama-cpp ${percent(peer, before.peer)}`,
    ...(built && before.built ? [`the build ${percent(built, before.built)}`] : []),
  ];
  return `; ${kept.join(', ')}`;
}

/** 'clang' of 'clang 19.1.7'. */
const familyOf = ({ compiler }) => compiler.split(' ')[0];

/** Works in run order, models in measuring order. `about`: of llama.cpp built for this machine. */
function table(rows, about) {
  const built = rows.some((row) => row.built) ? about : undefined;
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
    const { measurement, title, unit, quern } = row;
    const kept = measurement.does.busy ? keptOf(row, rows) : '';
    const first = [
      title + kept,
      nameOf(measurement),
      unit,
      cell(quern),
      cell(row.peer),
      ratioCell(row.ratio),
    ];
    return line(built ? [...first, cell(row.built), ratioCell(row.builtRatio)] : first);
  });
  const heads = ['work', 'model', 'unit', 'Quern', 'node-llama-cpp', 'ratio'];
  if (built) heads.push(`${builtName} (${familyOf(built)})`, 'ratio');
  return [line(heads), line(heads.map(() => '---')), ...lines].join('\n');
}

const line = (cells) => `| ${cells.join(' | ')} |`;

/** In how many of the timed rows the engine had flash attention. */
function flashShare(timed, side) {
  const measured = timed.filter((one) => one[side]);
  return `${measured.filter((one) => one[side].about.flashAttention).length} of ${measured.length} rows`;
}

const builtLine = ({ version, commit, compiler, type, native }) =>
  `${builtName}: ${version}, commit ${commit}, ${compiler}, ${type}${native ? ', GGML_NATIVE' : ''}.`;

const sidesOf = ({ quern, peer, built }) => [quern, peer, built].filter(Boolean);

const turnsOf = ({ quern }) => (quern.times ?? quern.loads).length;

/** '7 turns', '3 to 7 turns'. */
function turnsText(measurements) {
  const turns = measurements.map(turnsOf);
  const [fewest, most] = [Math.min(...turns), Math.max(...turns)];
  return fewest === most ? `${most} turns` : `${fewest} to ${most} turns`;
}

/** The largest share of a core that a waiting engine took. */
const idleShare = (timed) => Math.max(0, ...timed.flatMap((one) => sidesOf(one).map(({ idle }) => idle)));

function heading({ machine, peer, built, measurements }) {
  const kernels = (side) =>
    unique(measurements.filter(({ isa }) => isa === 'best').map((one) => one[side].about.kernels)).join(', ');
  const about = measurements[0].peer.about;
  const timed = measurements.filter(({ quern }) => quern.times);
  const days = unique(measurements.map(({ at }) => at.slice(0, 10))).sort();
  const flash = [`node-llama-cpp in ${flashShare(timed, 'peer')}`];
  if (built) flash.push(`${builtName} in ${flashShare(timed, 'built')}`);
  return [
    `Machine: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.platform}, Node ${machine.node}; ${days.join(', ')}.`,
    `Quern at ${unique(measurements.map(({ commit }) => commit)).join(', ')}, kernels ${kernels('quern')}. ${peer} with llama.cpp ${about.llamaCpp}, its prebuilt ${kernels('peer')}.`,
    ...(built ? [builtLine(built)] : []),
    `Medians (and quartiles) of ${turnsText(measurements)}; a ratio is above 1 where Quern is better. Flash attention where that was faster: ${flash.join(', ')}. While one worked, another took at most ${(100 * idleShare(timed)).toFixed(0)} % of a core.`,
  ].join('\n');
}

function chart(rows, built) {
  const best = rows.filter(({ measurement }) => measurement.isa === 'best');
  const most = Math.max(...best.map(({ measurement }) => measurement.threads));
  const shown = best.filter(
    ({ measurement: { threads, does } }) => threads === most && !does.busy && does.kind !== 'load',
  );
  const panels = unique(shown.map(({ title }) => title)).map((title) => ({
    title,
    bars: shown
      .filter((row) => row.title === title)
      .map((row) => ({ label: nameOf(row.measurement), values: [row.ratio, row.builtRatio] })),
  }));
  const peers = built ? ['node-llama-cpp', `${builtName} (${familyOf(built)})`] : ['node-llama-cpp'];
  return panels.length > 0 ? { threads: most, peers, svg: ratioChart(panels, peers) } : undefined;
}

function replaceSection(text, section, path) {
  const [begin, end] = ['begin', 'end'].map(
    (side) => `<!-- tools/bench${machineName && ` ${machineName}`}: ${side} -->`,
  );
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
/** 'amx' of results-amx.json. */
const machineName = /^results-(.+)$/.exec(basename(source, '.json'))?.[1] ?? '';
const results = readResults(source);
const rows = results.measurements.flatMap(rowsOf);
const parts = [heading(results)];
const drawing = chart(rows, results.built);
const image = `${basename(flags.document, extname(flags.document))}${machineName && `-${machineName}`}.svg`;
if (drawing) {
  writeFileSync(join(dirname(flags.document), image), drawing.svg);
  parts.push(
    `![Quern's speed as a multiple of that of ${drawing.peers.join(' and of ')}, ${count(drawing.threads)}](${image})`,
  );
}
for (const setting of unique(rows.map(({ measurement }) => settingOf(measurement))))
  parts.push(
    `### ${setting}${machineName && `, ${machineName}`}`,
    table(
      rows.filter(({ measurement }) => settingOf(measurement) === setting),
      results.built,
    ),
  );
const text = readFileSync(flags.document, 'utf8');
writeFileSync(flags.document, replaceSection(text, parts.join('\n\n'), flags.document));
console.log(`${flags.document}: ${rows.length} rows`);
