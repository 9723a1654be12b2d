import type { TensorReport } from '@quern/runtime';
import type { Outcome } from './compare.js';

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
const rule = (columns: number): string => row(Array.from({ length: columns }, () => '---'));

/** The formats beside each other; first the model as it was. */
export function showOutcomes(
  source: { readonly byteLength: number; readonly perplexity: number | undefined },
  outcomes: readonly Outcome[],
): string {
  const size = (bytes: number) => (bytes / 1e6).toFixed(1);
  const measured = (value: number | undefined) => value?.toFixed(4) ?? '–';
  return [
    row(['format', 'MB', 'relative error', 'perplexity', 'seconds']),
    rule(5),
    row(['as it was', size(source.byteLength), '–', measured(source.perplexity), '–']),
    ...outcomes.map((outcome) =>
      row([
        outcome.format,
        size(outcome.byteLength),
        outcome.relativeError.toExponential(2),
        measured(outcome.perplexity),
        outcome.seconds.toFixed(1),
      ]),
    ),
  ].join('');
}

/** The error of every tensor. */
export const showTensors = (tensors: readonly TensorReport[]): string =>
  [
    row(['tensor', 'shape', 'was', 'is', 'rms', 'greatest', 'relative']),
    rule(7),
    ...tensors.map(({ name, shape, from, to, rms, max, relative }) =>
      row([
        name,
        shape.join(' × '),
        from,
        to,
        ...[rms, max, relative].map((error) => error.toExponential(2)),
      ]),
    ),
  ].join('');
