import { regexPattern } from './regex-format.js';
import { uriPatterns } from './uris.js';

/**
 * Formats as ECMA-262 patterns: those of JSON Schema 2020-12 (validation, section 7.3), of OpenAPI's registry, and those that
 * Zod, Pydantic, ajv and schemars write. They are not wider than their standards; where a standard is not regular (lengths of
 * host names in total, nesting of regular expressions) they are narrower. What a JWT holds is not looked at.
 */
const DATE =
  '(?:(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8])))|(?:(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29))';
const CLOCK = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?';
const ZONE = '(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';
const TIME = `${CLOCK}${ZONE}`;
const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = `${BYTE}\\.${BYTE}\\.${BYTE}\\.${BYTE}`;
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const HOST = `${LABEL}(?:\\.${LABEL}){0,3}`;
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

/** Networks: the bits behind the prefix are 0. */
function networks(): { v4: string; v6: string } {
  const zeros = (count: number) => '\\.0'.repeat(count);
  const v4 = [1, 2, 3, 4].map(
    (bytes) => `${BYTE}(?:\\.${BYTE}){${bytes - 1}}${zeros(4 - bytes)}/${8 * bytes}`,
  );
  const v6 = [1, 2, 3, 4, 5, 6, 7].map((parts) => `${HEX16}(?::${HEX16}){${parts - 1}}::/${16 * parts}`);
  return { v4: `(?:${v4.join('|')})`, v6: `(?:${v6.join('|')}|${IPV6}/128)` };
}

const IPV6 = ipv6();
const NETWORK = networks();
const PREFIX4 = '(?:3[0-2]|[12]?\\d)';
const PREFIX6 = '(?:12[0-8]|1[01]\\d|[1-9]?\\d)';
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]";
const EMAIL = `${ATOM}+(?:\\.${ATOM}+)*@${HOST}`;
/** Letters that IDNA 2008 allows anywhere in a label: Latin, Greek, Cyrillic, kana, Han, Hangul. */
const IDN_LETTER =
  '[a-z0-9\\u00df-\\u00f6\\u00f8-\\u00ff\\u03ac-\\u03ce\\u0430-\\u045f\\u3041-\\u3096\\u30a1-\\u30fa\\u4e00-\\u9fa5\\uac00-\\ud7a3]';
const IDN_LABEL = `(?:${LABEL}|${IDN_LETTER}{1,11})`;
const IDN_HOST = `${IDN_LABEL}(?:\\.${IDN_LABEL}){0,3}`;
const IDN_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u00a1-\\u1fff\\u2c00-\\ud7ff\\u{10000}-\\u{1fffd}-]";
const HEX = '[0-9A-Fa-f]';
const BASE64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?';
const TOKEN = '[A-Za-z0-9_-]';
const MAC = (digits: string) => `(?:[${digits}]{2}:){5}[${digits}]{2}`;
const uuid = (version: string) => `${HEX}{8}-${HEX}{4}-${version}${HEX}{3}-[89ABab]${HEX}{3}-${HEX}{12}`;
const POINTER = '(?:/(?:[^/~]|~[01])*)*';
const HTTP_DATE =
  '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?:0[1-9]|1\\d|2[0-8]) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \\d{4} (?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d GMT';

const patterns: Readonly<Record<string, string>> = {
  ...uriPatterns,
  date: DATE,
  time: TIME,
  'date-time': `${DATE}[Tt]${TIME}`,
  'iso-time': TIME,
  'iso-date-time': `${DATE}[Tt]${TIME}`,
  'partial-time': CLOCK,
  'time-local': CLOCK,
  'partial-date-time': `${DATE}T${CLOCK}`,
  'date-time-local': `${DATE}T${CLOCK}`,
  'http-date': HTTP_DATE,
  duration: DURATION,
  email: EMAIL,
  'idn-email': `${IDN_ATOM}+(?:\\.${IDN_ATOM}+)*@${IDN_HOST}`,
  'name-email': `[A-Za-z]+(?: [A-Za-z]+)* <${EMAIL}>`,
  hostname: HOST,
  'idn-hostname': IDN_HOST,
  ipv4: IPV4,
  'ip-address': IPV4,
  ipv6: IPV6,
  ip: `(?:${IPV4}|${IPV6})`,
  ipvanyaddress: `(?:${IPV4}|${IPV6})`,
  cidrv4: `${IPV4}/${PREFIX4}`,
  cidrv6: `${IPV6}/${PREFIX6}`,
  ipv4interface: `${IPV4}/${PREFIX4}`,
  ipv6interface: `${IPV6}/${PREFIX6}`,
  ipvanyinterface: `(?:${IPV4}/${PREFIX4}|${IPV6}/${PREFIX6})`,
  ipv4network: NETWORK.v4,
  ipv6network: NETWORK.v6,
  ipvanynetwork: `(?:${NETWORK.v4}|${NETWORK.v6})`,
  mac: `(?:${MAC('0-9A-F')}|${MAC('0-9a-f')})`,
  uuid: `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`,
  guid: `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`,
  ...Object.fromEntries(
    [1, 2, 3, 4, 5, 6, 7, 8].flatMap((version) => [
      [`uuid${version}`, uuid(`${version}`)],
      [`uuidv${version}`, uuid(`${version}`)],
    ]),
  ),
  'json-pointer': POINTER,
  'json-pointer-uri-fragment': "#(?:/(?:[A-Za-z0-9_.!$&'()*+,;:=@-]|%[0-9A-Fa-f]{2}|~[01])*)*",
  'relative-json-pointer': `(?:0|[1-9]\\d*)(?:#|${POINTER})`,
  regex: regexPattern(),
  byte: BASE64,
  base64: BASE64,
  base64url: `(?:${TOKEN}{4})*(?:${TOKEN}{2,3})?`,
  hex: `${HEX}*`,
  jwt: `eyJ${TOKEN}+\\.${TOKEN}+\\.${TOKEN}+`,
  e164: '\\+[1-9]\\d{6,14}',
  emoji: '\\p{Emoji_Presentation}+',
  cuid: 'c[0-9a-z]{24}',
  cuid2: '[a-z][0-9a-z]{23}',
  ulid: '[0-7][0-9A-HJKMNP-TV-Z]{25}',
  xid: '[0-9a-v]{20}',
  ksuid: '[A-Za-z0-9]{27}',
  nanoid: `${TOKEN}{21}`,
  char: '[\\s\\S]',
};

/** Formats of Zod whose pattern stands beside them. */
export const isPatternFormat = (name: string): boolean =>
  /^(?:(?:starts|ends)_with|includes|(?:lower|upper)case|(?:md5|sha\d+)_(?:hex|base64|base64url))$/.test(
    name,
  );

/** Formats that restrict nothing, or only how a program shows the value. */
export const freeFormats: ReadonlySet<string> = new Set([
  ...['password', 'binary', 'textarea', 'commonmark', 'html', 'markdown', 'path'],
  ...['float', 'double', 'number', 'decimal', 'decimal128', 'time-delta'],
]);

type Limits = readonly [least: number | bigint, most: number | bigint];

/** Formats of integers: the bits of the type, unsigned ones with `u`. */
export const integerFormats: Readonly<Record<string, Limits>> = {
  int: signed(64),
  uint: unsigned(64),
  unixtime: signed(64),
  ...Object.fromEntries(
    [8, 16, 32, 64, 128].flatMap((bits) => [
      [`int${bits}`, signed(bits)],
      [`uint${bits}`, unsigned(bits)],
    ]),
  ),
};

function signed(bits: number): Limits {
  return [exact(-(2n ** BigInt(bits - 1))), exact(2n ** BigInt(bits - 1) - 1n)];
}

function unsigned(bits: number): Limits {
  return [0, exact(2n ** BigInt(bits) - 1n)];
}

function exact(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** The anchored pattern of a format of strings; undefined if the format is unknown. */
export const formatPattern = (name: string): string | undefined =>
  Object.hasOwn(patterns, name) ? `^(?:${patterns[name]})$` : undefined;
