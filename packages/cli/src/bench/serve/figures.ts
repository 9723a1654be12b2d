import { quantile } from '../statistics.js';
import type { LoadResult } from './load.js';

/** Milliseconds at some shares of the requests. */
export interface Quantiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/** Limits of a good request, in milliseconds. */
export interface Goals {
  readonly firstToken: number | undefined;
  readonly betweenTokens: number | undefined;
}

export interface LoadFigures {
  readonly requests: number;
  readonly seconds: number;
  readonly requestsPerSecond: number;
  readonly outputTokensPerSecond: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** Null where no request has given a token. */
  readonly firstToken: Quantiles | null;
  readonly betweenTokens: Quantiles | null;
  readonly total: Quantiles | null;
  /** Share of the finished requests within the goals; null without goals. */
  readonly goodput: number | null;
  /** Number of requests by their end. */
  readonly ends: Readonly<Record<string, number>>;
}

export function figuresOf({ outcomes, seconds }: LoadResult, goals: Goals): LoadFigures {
  const finished = outcomes.filter(({ end }) => end === 'ok');
  const sum = (of: (outcome: (typeof outcomes)[number]) => number) =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const ends: Record<string, number> = {};
  for (const { end } of outcomes) ends[end] = (ends[end] ?? 0) + 1;
  return {
    requests: outcomes.length,
    seconds,
    requestsPerSecond: finished.length / seconds,
    outputTokensPerSecond: sum(({ tokens }) => tokens) / seconds,
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    firstToken: quantiles(finished.flatMap(({ firstToken }) => firstToken ?? [])),
    betweenTokens: quantiles(finished.flatMap(({ gaps }) => gaps)),
    total: quantiles(finished.map(({ total }) => total)),
    goodput: goodput(finished, goals),
    ends,
  };
}

const quantiles = (values: readonly number[]): Quantiles | null =>
  values.length === 0
    ? null
    : { p50: quantile(values, 0.5), p90: quantile(values, 0.9), p99: quantile(values, 0.99) };

/** A request is good if its first token and each later one (at p99) come in time. */
function goodput(finished: LoadResult['outcomes'], { firstToken, betweenTokens }: Goals): number | null {
  if (firstToken === undefined && betweenTokens === undefined) return null;
  const isGood = (outcome: (typeof finished)[number]): boolean =>
    (outcome.firstToken ?? Number.POSITIVE_INFINITY) <= (firstToken ?? Number.POSITIVE_INFINITY) &&
    (quantiles(outcome.gaps)?.p99 ?? 0) <= (betweenTokens ?? Number.POSITIVE_INFINITY);
  return finished.length === 0 ? 0 : finished.filter(isGood).length / finished.length;
}
