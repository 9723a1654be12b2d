import type { TensorReport } from '@quern/runtime';
import type { Accuracy } from './accuracy.js';
import type { Outcome, SourceOutcome } from './compare.js';

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
const rule = (columns: number): string => row(Array.from({ length: columns }, () => '---'));

/** A table of the formats; first row: the source model. */
export function showOutcomes(
  source: SourceOutcome,
  outcomes: readonly Outcome[],
  accuracy: Accuracy | undefined,
): string {
  const size = (bytes: number) => (bytes / 1e6).toFixed(1);
  const measured = (outcome: Pick<Outcome, Accuracy['key']>) =>
    accuracy ? [outcome[accuracy.key]?.toFixed(accuracy.key === 'perplexity' ? 4 : 5) ?? '–'] : [];
  const header = ['format', 'MB', 'relative error', ...(accuracy ? [accuracy.name] : []), 'seconds'];
  return [
    row(header),
    rule(header.length),
    row(['as it was', size(source.byteLength), '–', ...measured(source), '–']),
    ...outcomes.map((outcome) =>
      row([
        outcome.format,
        size(outcome.byteLength),
        outcome.relativeError.toExponential(2),
        ...measured(outcome),
        outcome.seconds.toFixed(1),
      ]),
    ),
  ].join('');
}

/** A line per tensor with its error. */
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
