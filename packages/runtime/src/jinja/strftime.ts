const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');
const DAY_MS = 86_400_000;

/** A number with its least width, padded by zeros or spaces; or text. */
type Field = readonly [value: number, width: number, padding: '0' | ' '] | string;

/** Days since 1970, by the local calendar. */
const dayNumber = (year: number, month: number, day: number): number => Date.UTC(year, month, day) / DAY_MS;

const today = (date: Date): number => dayNumber(date.getFullYear(), date.getMonth(), date.getDate());

/** 0 on January 1. */
const dayOfYear = (date: Date): number => today(date) - dayNumber(date.getFullYear(), 0, 1);

/** Weeks since the year's first `first` (0: Sunday, 1: Monday); the days before it are week 0. */
const week = (date: Date, first: number): number =>
  Math.floor((dayOfYear(date) + 7 - ((date.getDay() + 7 - first) % 7)) / 7);

/** The year and week of ISO 8601: those of the week's Thursday. */
function isoWeek(date: Date): { year: number; week: number } {
  const thursday = today(date) + 4 - (date.getDay() || 7);
  const year = new Date(thursday * DAY_MS).getUTCFullYear();
  return { year, week: Math.floor((thursday - dayNumber(year, 0, 1)) / 7) + 1 };
}

const half = (date: Date) => (date.getHours() < 12 ? 'AM' : 'PM');
const hour12 = (date: Date) => date.getHours() % 12 || 12;
const zeros = (value: number, width = 2): Field => [value, width, '0'];
const spaces = (value: number): Field => [value, 2, ' '];

const FIELDS: Readonly<Record<string, (date: Date) => Field>> = {
  Y: (date) => zeros(date.getFullYear(), 0),
  C: (date) => zeros(Math.floor(date.getFullYear() / 100)),
  y: (date) => zeros(date.getFullYear() % 100),
  G: (date) => zeros(isoWeek(date).year, 0),
  g: (date) => zeros(isoWeek(date).year % 100),
  m: (date) => zeros(date.getMonth() + 1),
  B: (date) => MONTHS[date.getMonth()]!,
  b: (date) => MONTHS[date.getMonth()]!.slice(0, 3),
  h: (date) => MONTHS[date.getMonth()]!.slice(0, 3),
  V: (date) => zeros(isoWeek(date).week),
  U: (date) => zeros(week(date, 0)),
  W: (date) => zeros(week(date, 1)),
  d: (date) => zeros(date.getDate()),
  e: (date) => spaces(date.getDate()),
  j: (date) => zeros(dayOfYear(date) + 1, 3),
  A: (date) => DAYS[date.getDay()]!,
  a: (date) => DAYS[date.getDay()]!.slice(0, 3),
  w: (date) => zeros(date.getDay(), 1),
  u: (date) => zeros(date.getDay() || 7, 1),
  H: (date) => zeros(date.getHours()),
  k: (date) => spaces(date.getHours()),
  I: (date) => zeros(hour12(date)),
  l: (date) => spaces(hour12(date)),
  p: half,
  P: (date) => half(date).toLowerCase(),
  M: (date) => zeros(date.getMinutes()),
  S: (date) => zeros(date.getSeconds()),
  f: (date) => `${String(date.getMilliseconds()).padStart(3, '0')}000`,
  s: (date) => zeros(Math.floor(date.getTime() / 1000), 1),
  z: () => '', // the time of templates has no zone
  Z: () => '',
  n: () => '\n',
  t: () => '\t',
  F: (date) => strftime(date, '%Y-%m-%d'),
  T: (date) => strftime(date, '%H:%M:%S'),
  R: (date) => strftime(date, '%H:%M'),
  D: (date) => strftime(date, '%m/%d/%y'),
  x: (date) => strftime(date, '%m/%d/%y'),
  X: (date) => strftime(date, '%H:%M:%S'),
  r: (date) => strftime(date, '%I:%M:%S %p'),
  c: (date) => strftime(date, '%a %b %e %H:%M:%S %Y'),
  '%': () => '%',
};

/** Flags, width, modifier (without effect in the C locale), field. */
const FORMAT = /%([-_0^#]*)([0-9]*)[EO]?([A-Za-z%])/g;
/** Most characters of a width: a template must not ask for gigabytes. */
const WIDEST = 1024;

/**
 * C's strftime in the C locale and local time, with glibc's flags (%-d, %_H, %^a), as Python has it on Linux. Unknown
 * fields stay unchanged.
 */
export const strftime = (date: Date, format: string): string =>
  format.replace(FORMAT, (text, flags: string, width: string, name: string) =>
    Object.hasOwn(FIELDS, name) ? written(FIELDS[name]!(date), name, flags, width) : text,
  );

function written(field: Field, name: string, flags: string, width: string): string {
  const [value, own, padding] = typeof field === 'string' ? [field, 0, ' ' as const] : field;
  const asked = /[-_0]/.exec([...flags].reverse().join(''))?.[0]; // the last one counts
  const least = asked === '-' && width === '' ? 0 : Math.min(WIDEST, Number(width || own));
  const filled = asked === '_' || asked === '-' ? ' ' : asked === '0' ? '0' : padding;
  return withCase(String(value), name, flags).padStart(least, filled);
}

function withCase(text: string, name: string, flags: string): string {
  if (flags.includes('#')) return name === 'p' ? text.toLowerCase() : text.toUpperCase();
  return flags.includes('^') ? text.toUpperCase() : text;
}
