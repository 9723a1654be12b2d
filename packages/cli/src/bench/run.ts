import {
  type Backend,
  type BackendPlan,
  type DeviceCeilings,
  describeModel,
  type KvDtype,
  loadModel,
  type Model,
  openModelFile,
} from '@quern/runtime';
import { notice } from '../terminal/report.js';
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
  /** As in LoadOptions, of a model on several backends. */
  readonly split?: string | undefined;
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

/** One model on one backend, or its parts on several. */
export interface RunFigures {
  /** Of several: with + between, as the instruction sets. */
  readonly backend: string;
  readonly isa: string;
  /** Parts compute one after the other: of several backends, the most threads of one. */
  readonly threads: number;
  /** Absent: a backend does not tell. Of several: with + between. */
  readonly precision?: string;
  /** 'cpu 0-11 + reference 12-27': the layers of each of several backends. */
  readonly plan?: string;
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

const showRange = ({ backend, firstLayer, endLayer }: BackendPlan['ranges'][number]): string =>
  `${backend} ${endLayer - firstLayer === 1 ? firstLayer : `${firstLayer}-${endLayer - 1}`}`;

function precisionOf(backends: readonly Pick<Backend, 'profile'>[]): Pick<RunFigures, 'precision'> {
  const each = backends.flatMap(({ profile: { precision } }) => precision ?? []);
  return each.length === backends.length ? { precision: each.join(' + ') } : {};
}

/** The same of a model on several backends. */
function runOfParts(
  backends: readonly Backend[],
  model: Model,
  figures: Pick<RunFigures, 'residentBytes' | 'works'>,
  check: Check | undefined,
): RunFigures {
  return {
    backend: backends.map(({ name }) => name).join(' + '),
    isa: backends.map(({ profile }) => profile.isa).join(' + '),
    threads: Math.max(...backends.map(({ profile }) => profile.threads)),
    ...precisionOf(backends),
    plan: model.plan.ranges.map(showRange).join(' + '),
    loadMs: model.loadMs,
    ...figures,
    check: check ?? null,
  };
}

/** @param loaded a model, and the process's bytes before computing */
export function runOf(
  backend: Backend,
  { model, residentBytes }: { readonly model: { readonly loadMs: number }; readonly residentBytes: number },
  check: Check | undefined,
  works: readonly WorkFigures[],
): RunFigures {
  const { isa, threads } = backend.profile;
  return {
    ...{ backend: backend.name, isa, threads, ...precisionOf([backend]) },
    loadMs: model.loadMs,
    residentBytes,
    check: check ?? null,
    works,
  };
}

/** Shares are of one backend's ceilings. */
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

/** The backend whose kernels most need the check. */
const leastPlain = (backends: readonly Backend[]): Backend =>
  backends.find(({ profile }) => profile.kind !== 'interpreter' && profile.isa !== 'scalar') ?? backends[0]!;

/**
 * Loads a model on a backend, or its parts on several, checks its output, times the works. Rejects with the signal's reason.
 * @param ceilings of one backend; the works of several have no share of a ceiling
 */
export async function measureModel(
  path: string,
  backends: readonly Backend[],
  ceilings: DeviceCeilings | undefined,
  options: RunOptions,
): Promise<RunFigures> {
  const { flags, cacheDtype, check, mmap, split, signal } = options;
  const works = worksOf(flags);
  const sequences = Math.max(...works.map(batchOf));
  const context = Math.max(contextOf(works), checkedTokens);
  using model = await loadModel(path, {
    backend: backends,
    context,
    sequences,
    mmap,
    signal,
    ...(split !== undefined && { split }),
    ...(cacheDtype && { cacheDtype }),
  });
  const residentBytes = process.memoryUsage.rss();
  const [first] = backends;
  const inParts = model.plan.ranges.length > 1;
  if (inParts) for (const reason of model.plan.reasons) notice(reason);
  const measured = inParts ? model.plan.ranges.map(showRange).join(' + ') : undefined;
  const checked = check ? await checkOutput(model, leastPlain(backends), signal, measured) : undefined;
  const figures = await measureWorks(model, first!, inParts ? undefined : ceilings, works, options);
  return inParts
    ? runOfParts(backends, model, { residentBytes, works: figures }, checked)
    : runOf(first!, { model, residentBytes }, checked, figures);
}
