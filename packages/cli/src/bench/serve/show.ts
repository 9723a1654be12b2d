import { count } from '../../terminal/count.js';
import { figure } from '../../terminal/figure.js';
import { barChart } from '../chart.js';
import type { LoadFigures, Quantiles } from './figures.js';

const latencies = [
  ['first token', 'firstToken'],
  ['between tokens', 'betweenTokens'],
  ['whole request', 'total'],
] as const;

const row = (name: string, times: Quantiles | null): string =>
  times
    ? `${name.padEnd(16)}${[times.p50, times.p90, times.p99].map((ms) => figure(ms).padStart(9)).join('')}\n`
    : `${name.padEnd(16)}${'–'.padStart(9)}\n`;

/** The figures as text. */
export function showLoad(figures: LoadFigures): string {
  const { requests, seconds, requestsPerSecond, outputTokensPerSecond, ends, goodput } = figures;
  const cached = figures.promptTokens > 0 ? (100 * figures.cachedTokens) / figures.promptTokens : 0;
  const endings = Object.entries(ends).map(([end, number]) => `${end}: ${number}`);
  return (
    `${count(requests, 'request')} in ${figure(seconds)} s: ${figure(requestsPerSecond)} finished per second, ` +
    `${figure(outputTokensPerSecond)} tokens per second\n` +
    `${endings.join(', ')}; ${figure(cached)} % of the prompt tokens came from the cache\n` +
    `${'milliseconds'.padEnd(16)}${['p50', 'p90', 'p99'].map((name) => name.padStart(9)).join('')}\n` +
    latencies.map(([name, key]) => row(name, figures[key])).join('') +
    (goodput === null ? '' : `within the limits: ${figure(100 * goodput)} %\n`)
  );
}

/** The latencies as an SVG of bars. */
export const loadChart = (figures: LoadFigures): string =>
  barChart(
    latencies.flatMap(([name, key]) => {
      const times = figures[key];
      if (!times) return [];
      const bars = (['p50', 'p90', 'p99'] as const).map((label) => ({ label, value: times[label] }));
      return [{ title: `${name}, milliseconds`, bars }];
    }),
  );
