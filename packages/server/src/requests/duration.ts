const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const part = /(\d+(?:\.\d+)?|\.\d+)(ns|us|µs|ms|s|m|h)/g;

/** Milliseconds of a duration as Go writes it ('5m', '1h30m', '-1s'), or of a number of seconds; undefined: it is none. */
export function durationMs(text: string): number | undefined {
  if (/^-?\d+(\.\d+)?$/.test(text)) return 1000 * Number(text);
  const [, sign, rest] = /^([+-]?)(\S+)$/.exec(text) ?? [];
  if (rest === undefined || rest.replace(part, '') !== '') return undefined;
  const ms = [...rest.matchAll(part)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * units[unit!]!,
    0,
  );
  return sign === '-' ? -ms : ms;
}
