const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

const two = (value: number) => String(value).padStart(2, '0');

/** 1 on January 1. */
const dayOfYear = (date: Date): number =>
  Math.round(
    (Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - Date.UTC(date.getFullYear(), 0, 0)) /
      86_400_000,
  );

const FIELDS: Readonly<Record<string, (date: Date) => string>> = {
  Y: (date) => String(date.getFullYear()),
  y: (date) => two(date.getFullYear() % 100),
  m: (date) => two(date.getMonth() + 1),
  d: (date) => two(date.getDate()),
  e: (date) => String(date.getDate()).padStart(2),
  B: (date) => MONTHS[date.getMonth()]!,
  b: (date) => MONTHS[date.getMonth()]!.slice(0, 3),
  A: (date) => DAYS[date.getDay()]!,
  a: (date) => DAYS[date.getDay()]!.slice(0, 3),
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  M: (date) => two(date.getMinutes()),
  S: (date) => two(date.getSeconds()),
  j: (date) => String(dayOfYear(date)).padStart(3, '0'),
  w: (date) => String(date.getDay()),
  u: (date) => String(date.getDay() || 7),
  F: (date) => strftime(date, '%Y-%m-%d'),
  T: (date) => strftime(date, '%H:%M:%S'),
  R: (date) => strftime(date, '%H:%M'),
  D: (date) => strftime(date, '%m/%d/%y'),
  x: (date) => strftime(date, '%m/%d/%y'),
  X: (date) => strftime(date, '%H:%M:%S'),
  c: (date) => strftime(date, '%a %b %e %H:%M:%S %Y'),
  f: (date) => `${String(date.getMilliseconds()).padStart(3, '0')}000`,
  '%': () => '%',
};

/** C's strftime in the C locale and local time, for the fields used in templates; other fields stay unchanged. */
export const strftime = (date: Date, format: string): string =>
  format.replace(/%(.)/g, (text, field: string) =>
    Object.hasOwn(FIELDS, field) ? FIELDS[field]!(date) : text,
  );
