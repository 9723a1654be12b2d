/**
 * Formats of JSON Schema 2020-12 (validation, section 7.3) and of OpenAPI as ECMA-262 patterns. They are not wider than the
 * standards; where a standard is not regular (lengths of host names in total) they are narrower.
 */
const DATE =
  '(?:(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8])))|(?:(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29))';
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';
const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = `${BYTE}\\.${BYTE}\\.${BYTE}\\.${BYTE}`;
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const HOST = `${LABEL}(?:\\.${LABEL}){0,3}`;
const ESCAPE = '%[0-9A-Fa-f]{2}';
const PCHAR = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|${ESCAPE})`;
const QUERY = `(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|${ESCAPE})*`;
const SUFFIX = `(?:\\?${QUERY})?(?:#${QUERY})?`;
const AUTHORITY = `(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|${ESCAPE})*@)?(?:[A-Za-z0-9._~!$&'()*+,;=-]|${ESCAPE})*(?::\\d*)?`;
const SEGMENTS = `(?:/${PCHAR}*)*`;
const URI = `[A-Za-z][A-Za-z0-9+.-]*:(?://${AUTHORITY}${SEGMENTS}|/(?:${PCHAR}+${SEGMENTS})?|${PCHAR}+${SEGMENTS})${SUFFIX}`;
const NO_COLON = `(?:[A-Za-z0-9._~!$&'()*+,;=@-]|${ESCAPE})`;
const RELATIVE = `(?://${AUTHORITY}${SEGMENTS}|/(?:${PCHAR}+${SEGMENTS})?|${NO_COLON}+${SEGMENTS})?${SUFFIX}`;
const HEX16 = '[0-9A-Fa-f]{1,4}';
const DURATION_TIME = 'T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)';
const DURATION = `P(?:\\d+W|(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)(?:${DURATION_TIME})?|${DURATION_TIME})`;

function ipv6(): string {
  const choices = [`(?:${HEX16}:){7}${HEX16}`, `(?:${HEX16}:){6}${IPV4}`];
  for (let before = 0; before <= 7; before++) {
    const head = before === 0 ? '' : `${HEX16}(?::${HEX16}){${before - 1}}`;
    const most = 7 - before;
    choices.push(most > 0 ? `${head}::(?:${HEX16}(?::${HEX16}){0,${most - 1}})?` : `${head}::`);
    if (before <= 5) choices.push(`${head}::(?:${HEX16}:){0,${5 - before}}${IPV4}`);
  }
  return `(?:${choices.join('|')})`;
}

const patterns: Record<string, string> = {
  date: DATE,
  time: TIME,
  'date-time': `${DATE}[Tt]${TIME}`,
  duration: DURATION,
  email: `[A-Za-z0-9!#$%&'*+/=?^_\`{|}~-]+(?:\\.[A-Za-z0-9!#$%&'*+/=?^_\`{|}~-]+)*@${HOST}`,
  hostname: HOST,
  ipv4: IPV4,
  'ip-address': IPV4,
  ipv6: ipv6(),
  uuid: '[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}',
  uri: URI,
  url: `https?://${AUTHORITY}${SEGMENTS}${SUFFIX}`,
  'uri-reference': `(?:${URI}|${RELATIVE})`,
  'json-pointer': '(?:/(?:[^/~]|~[01])*)*',
  'relative-json-pointer': '(?:0|[1-9]\\d*)(?:#|(?:/(?:[^/~]|~[01])*)*)',
  byte: '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?',
};

/** Formats of Zod that mean what the patterns beside them say. */
export const patternFormats: ReadonlySet<string> = new Set([
  ...['starts_with', 'ends_with', 'includes', 'lowercase', 'uppercase'],
  ...['base64', 'base64url', 'hex', 'e164', 'emoji', 'mac', 'cidrv4', 'cidrv6'],
  ...['cuid', 'cuid2', 'ulid', 'xid', 'ksuid', 'nanoid'],
]);

/** Formats that restrict nothing, or only how a program shows the value. */
export const freeFormats: ReadonlySet<string> = new Set([
  'password',
  'binary',
  'textarea',
  'float',
  'double',
  'number',
]);

/** Formats of numbers: the least and greatest value. */
export const numberFormats: Readonly<Record<string, readonly [number | bigint, number | bigint]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint32: [0, 2 ** 32 - 1],
};

/** The anchored pattern of a format of strings; undefined if the format is unknown. */
export const formatPattern = (name: string): string | undefined =>
  Object.hasOwn(patterns, name) ? `^(?:${patterns[name]})$` : undefined;
