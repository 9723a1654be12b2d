const ESCAPE = '%[0-9A-Fa-f]{2}';
const PLAIN = 'A-Za-z0-9._~';
const DELIMITERS = "!$&'()*+,;=";
/** RFC 3987, ucschar and iprivate: characters of IRIs. */
const OTHERS =
  '\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}\\u{30000}-\\u{3fffd}';
const PRIVATE = '\\u{e000}-\\u{f8ff}';

/** RFC 3986; with the characters of RFC 3987 for IRIs. `others`: of all parts, `rest`: of queries alone. */
function identifiers(others: string, rest: string) {
  const characters = (more: string) => `(?:[${PLAIN}${DELIMITERS}${others}${more}]|${ESCAPE})`;
  const query = `${characters(`${rest}:@/?-`)}*`;
  const fragment = `${characters(':@/?-')}*`;
  const suffix = `(?:\\?${query})?(?:#${fragment})?`;
  const authority = `(?:${characters(':-')}*@)?${characters('-')}*(?::\\d*)?`;
  const character = characters(':@-');
  const segments = `(?:/${character}*)*`;
  const behind = (first: string) =>
    `(?://${authority}${segments}|/(?:${character}+${segments})?|${first}+${segments})`;
  return {
    absolute: `[A-Za-z][A-Za-z0-9+.-]*:${behind(character)}${suffix}`,
    relative: `${behind(characters('@-'))}?${suffix}`,
    web: `https?://${authority}${segments}${suffix}`,
  };
}

/** RFC 6570, without the operators that it reserves. */
function template(): string {
  const character = `(?:[A-Za-z0-9_]|${ESCAPE})`;
  const variable = `${character}(?:\\.?${character})*(?::[1-9]\\d{0,3}|\\*)?`;
  const literal = `[!#$&(-;=?-\\[\\]_a-z~${OTHERS}${PRIVATE}]|${ESCAPE}`;
  return `(?:${literal}|\\{[+#./;?&]?${variable}(?:,${variable})*\\})*`;
}

const uri = identifiers('', '');
const iri = identifiers(OTHERS, PRIVATE);

export const uriPatterns: Readonly<Record<string, string>> = {
  uri: uri.absolute,
  'uri-reference': `(?:${uri.absolute}|${uri.relative})`,
  url: uri.web,
  iri: iri.absolute,
  'iri-reference': `(?:${iri.absolute}|${iri.relative})`,
  'uri-template': template(),
};
