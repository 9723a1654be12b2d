// Converts a measurement to numbers for display: one row; for loading, several rows.
import { median, quantile } from './statistics.mjs';

const spread = (values) => ({
  median: median(values),
  lower: quantile(values, 0.25),
  upper: quantile(values, 0.75),
});

/** Larger rates are better, smaller times and bytes are better; `ratio` > 1: Quern is better. */
function row(measurement, title, unit, of) {
  const [quern, peer] = [measurement.quern, measurement.peer].map((side) => spread(of(side)));
  const isRate = unit === 'tokens/s';
  const ratio = isRate ? quern.median / peer.median : peer.median / quern.median;
  return { measurement, title, unit, quern, peer, ratio };
}

function loadRows(measurement) {
  const of = (value) => (side) => side.loads.map(value);
  return [
    row(
      measurement,
      'load',
      's',
      of(({ loadMs }) => loadMs / 1000),
    ),
    row(
      measurement,
      'resident after load',
      'MB',
      of(({ resident }) => resident / 1e6),
    ),
    row(
      measurement,
      `resident after a prompt of ${measurement.does.tokens}`,
      'MB',
      of(({ used }) => used.resident / 1e6),
    ),
  ];
}

/** The rows of one measurement. */
export function rowsOf(measurement) {
  const { kind, title, tokens, batch, shows } = measurement.does;
  if (kind === 'load') return loadRows(measurement);
  if (shows === 'time') return [row(measurement, title, 's', ({ times }) => times.map((ms) => ms / 1000))];
  return [
    row(measurement, title, 'tokens/s', ({ times }) => times.map((ms) => (1000 * batch * tokens) / ms)),
  ];
}
