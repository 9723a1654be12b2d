import type { DeviceCeilings } from '@quern/runtime';
import { showCeilings } from '../terminal/ceilings.js';
import { count } from '../terminal/count.js';
import { figure } from '../terminal/figure.js';
import type { RunFigures, WorkFigures } from './run.js';
import { showWork } from './works.js';

/** A machine's measured properties through one backend. */
export interface Machine {
  readonly name: string;
  readonly backend: string;
  readonly isa: string;
  readonly threads: number;
  /** Null: the backend does not measure ceilings. */
  readonly ceilings: DeviceCeilings | null;
}

/** One model on one machine. */
export interface Run extends RunFigures {
  /** 'qwen3-0.6b q4_k_m', or the file. */
  readonly model: string;
}

const percent = (share: number): string =>
  `${share < 0.1 ? figure(100 * share) : (100 * share).toFixed(0)} %`;

/** 'avx512, 2 threads, fast' */
export const showProfile = ({
  isa,
  threads,
  precision,
}: Pick<RunFigures, 'isa' | 'threads' | 'precision'>): string =>
  [isa, count(threads, 'thread'), ...(precision === undefined ? [] : [precision])].join(', ');

export function showMachine({ name, backend, isa, threads, ceilings }: Machine): string {
  const what = `${name}, ${backend} (${showProfile({ isa, threads })})`;
  if (!ceilings) return `${what}: its ceilings were not measured\n`;
  return `${what}: ${showCeilings(ceilings)}\n`;
}

/** With its plan where it lies on several backends. */
export const nameOf = ({ model, plan }: Run): string => (plan === undefined ? model : `${model}, ${plan}`);

export function showRun(run: Run): string {
  const { loadMs, residentBytes, check } = run;
  const checked = check
    ? `output within ${check.relativeError.toExponential(1)} of ${check.against}`
    : 'output not checked';
  return `${nameOf(run)} (${showProfile(run)}): loaded in ${loadMs.toFixed(0)} ms, ${(residentBytes / 1e6).toFixed(0)} MB resident, ${checked}\n`;
}

const header = [
  'model',
  'isa',
  'threads',
  'precision',
  'work',
  'tokens/s',
  'quartiles',
  'time',
  'share of ceiling',
];

const rowOf = (run: Run, work: WorkFigures): string[] => [
  nameOf(run),
  run.isa,
  String(run.threads),
  run.precision ?? '',
  showWork(work),
  figure(work.tokensPerSecond),
  `${figure(work.lowerQuartile)}–${figure(work.upperQuartile)}`,
  `${figure(work.milliseconds)} ms`,
  work.ceiling ? `${percent(work.ceiling.share)} of ${work.ceiling.of}` : '',
];

/** Numbers are right-aligned, words left-aligned. */
const isNumber = (column: number): boolean => [2, 5, 6, 7].includes(column);

/** One row per work of each run; each column as wide as its widest cell. */
export function showTable(runs: readonly Run[]): string {
  const rows = [header, ...runs.flatMap((run) => run.works.map((work) => rowOf(run, work)))];
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (isNumber(i) ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd();
  return `${rows.map(line).join('\n')}\n`;
}
