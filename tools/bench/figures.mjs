// Converts a measurement to numbers for display: one row; for loading, several rows.
import { median, quantile } from './statistics.mjs';

const spread = (values) => ({
  median: median(values),
  lower: quantile(values, 0.25),
  upper: quantile(values, 0.75),
});

/**
 * Larger rates are better, smaller times and bytes are better; `ratio` and `builtRatio` > 1: Quern is better than the peer,
 * than llama.cpp built for this machine. Without the latter, `built` and `builtRatio` are undefined.
 */
function row(measurement, title, unit, of) {
  const [quern, peer, built] = [measurement.quern, measurement.peer, measurement.built].map(
    (side) => side && spread(of(side)),
  );
  const ratioTo = (other) =>
    unit === 'tokens/s' ? quern.median / other.median : other.median / quern.median;
  const builtRatio = built && ratioTo(built);
  return { measurement, title, unit, quern, peer, ratio: ratioTo(peer), built, builtRatio };
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
