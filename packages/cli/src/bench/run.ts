import {
  type Backend,
  type DeviceCeilings,
  describeModel,
  type KvDtype,
  loadModel,
  type Model,
  openModelFile,
} from '@quern/runtime';
import { type Check, checkedTokens, checkOutput } from './check.js';
import { timesOf } from './measure.js';
import { type Share, shareOf } from './shares.js';
import { median, quantile } from './statistics.js';
import { batchOf, contextOf, type LanguageWork, type Work, type WorkFlags, worksOf } from './works.js';

export interface RunOptions {
  readonly flags: WorkFlags;
  readonly cacheDtype?: KvDtype;
  readonly repeat: number;
  readonly check: boolean;
  /** As in LoadOptions. */
  readonly mmap: boolean;
  readonly signal: AbortSignal;
  readonly onWork: (work: Work) => void;
}

/** Median and quartiles of one work. */
export type WorkFigures = Work & {
  /** Of all sequences of the batch together. */
  readonly tokensPerSecond: number;
  readonly lowerQuartile: number;
  readonly upperQuartile: number;
  /** Median, for the whole work. */
  readonly milliseconds: number;
  /** Call to first generated token; only for a prompt. */
  readonly firstTokenMs?: number;
  /** Absent if the backend does not measure ceilings. */
  readonly ceiling?: Share;
};

/** One model on one backend. */
export interface RunFigures {
  readonly backend: string;
  readonly isa: string;
  readonly threads: number;
  readonly loadMs: number;
  /** Resident bytes of this process after loading, before computing. */
  readonly residentBytes: number;
  /** Null: output not checked. */
  readonly check: Check | null;
  readonly works: readonly WorkFigures[];
}

/** @param times milliseconds of each repetition */
export function figuresOf(work: Work, times: readonly number[], ceiling: Share | undefined): WorkFigures {
  const rates = times.map((ms) => (1000 * batchOf(work) * work.tokens) / ms);
  return {
    ...work,
    tokensPerSecond: median(rates),
    lowerQuartile: quantile(rates, 0.25),
    upperQuartile: quantile(rates, 0.75),
    milliseconds: median(times),
    ...(work.kind === 'prefill' && { firstTokenMs: median(times) }),
    ...(ceiling && { ceiling }),
  };
}

/** @param loaded a model, and the process's bytes before computing */
export function runOf(
  { name, profile: { isa, threads } }: Backend,
  { model, residentBytes }: { readonly model: { readonly loadMs: number }; readonly residentBytes: number },
  check: Check | undefined,
  works: readonly WorkFigures[],
): RunFigures {
  return { backend: name, isa, threads, loadMs: model.loadMs, residentBytes, check: check ?? null, works };
}

async function measureWorks(
  model: Model,
  backend: Backend,
  ceilings: DeviceCeilings | undefined,
  works: readonly LanguageWork[],
  { repeat, signal, onWork }: RunOptions,
): Promise<WorkFigures[]> {
  const description = describeModel(await openModelFile(model.path), backend);
  const figures: WorkFigures[] = [];
  for (const work of works) {
    onWork(work);
    const times = await timesOf(model, work, repeat, signal);
    const ceiling = ceilings && shareOf(model, description, ceilings, work, median(times));
    figures.push(figuresOf(work, times, ceiling));
  }
  return figures;
}

/** Loads a model on a backend, checks its output, times the works. Rejects with the signal's reason. */
export async function measureModel(
  path: string,
  backend: Backend,
  ceilings: DeviceCeilings | undefined,
  options: RunOptions,
): Promise<RunFigures> {
  const { flags, cacheDtype, check, mmap, signal } = options;
  const works = worksOf(flags);
  const sequences = Math.max(...works.map(batchOf));
  const context = Math.max(contextOf(works), checkedTokens);
  using model = await loadModel(path, {
    backend,
    context,
    sequences,
    mmap,
    signal,
    ...(cacheDtype && { cacheDtype }),
  });
  const residentBytes = process.memoryUsage.rss();
  const checked = check ? await checkOutput(model, backend, signal) : undefined;
  const figures = await measureWorks(model, backend, ceilings, works, options);
  return runOf(backend, { model, residentBytes }, checked, figures);
}
