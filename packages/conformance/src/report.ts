import { type Closeness, formatCloseness } from './closeness.js';
import type { Result } from './conformance-options.js';

export interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly notSupported: number;
  readonly results: readonly Result[];
  /** Largest error of each op as a share of its tolerance, by format. */
  readonly closeness: readonly Closeness[];
}

export function reportOf(results: readonly Result[], closeness: readonly Closeness[] = []): Report {
  const count = (status: Result['status']) => results.filter((result) => result.status === status).length;
  return {
    passed: count('passed'),
    failed: count('failed'),
    notSupported: count('not supported'),
    results,
    closeness,
  };
}

function suiteLine(suite: string, results: readonly Result[]): string {
  const { passed, failed, notSupported } = reportOf(results);
  const parts = [
    `${passed} passed`,
    failed && `${failed} failed`,
    notSupported && `${notSupported} not supported`,
  ];
  return `${suite.padEnd(12)} ${parts.filter(Boolean).join(', ')}`;
}

/**
 * The report for people: a line per suite; each op's largest share of its tolerance; each failure with its reason; each
 * reason for "not supported" once; the totals.
 */
export function formatReport({ results, closeness, passed, failed, notSupported }: Report): string {
  const bySuite = new Map<string, Result[]>();
  for (const result of results) bySuite.set(result.suite, [...(bySuite.get(result.suite) ?? []), result]);
  const failures = results.filter(({ status }) => status === 'failed');
  const reasons = new Set(
    results.flatMap(({ status, message }) => (status === 'not supported' ? [message] : [])),
  );
  return [
    ...[...bySuite].map(([suite, inSuite]) => suiteLine(suite, inSuite)),
    ...formatCloseness(closeness),
    ...failures.map(({ suite, name, message }) => `\nFAILED  ${suite} › ${name}\n        ${message}`),
    ...[...reasons].map((reason) => `not supported: ${reason}`),
    '',
    `${passed} passed, ${failed} failed, ${notSupported} not supported`,
  ].join('\n');
}
