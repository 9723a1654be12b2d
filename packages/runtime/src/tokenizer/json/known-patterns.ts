import { byteLevelWords } from '../byte-level.js';
import * as ways from '../pre-tokenizer-patterns.js';

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const words = String.raw`[^\r\n\p{L}\p{N}]?\p{L}+`;
const rest = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const upper = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const lower = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const o200k = (end: string, digits: string) =>
  String.raw`[^\r\n\p{L}\p{N}]?${upper}*${lower}+${end}|[^\r\n\p{L}\p{N}]?${upper}+${lower}*${end}|\p{N}${digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const deepseek3 =
  '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

/** The pattern of Phi-4-mini and others. */
export const o200kSource = o200k(`${contractions}?`, '{1,3}');

/** The patterns of most files, by source. They run as built-in expressions, without a time limit. */
export const KNOWN_PATTERNS: ReadonlyMap<string, RegExp> = new Map(
  [
    [String.raw`${contractions}|${words}|\p{N}{1,3}|${rest}`, ways.CL100K.patterns[0]],
    [String.raw`${contractions}|${words}|\p{N}|${rest}`, ways.QWEN2.patterns[0]],
    [
      String.raw`${contractions}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
      ways.QWEN35.patterns[0],
    ],
    [String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`, byteLevelWords],
    [o200kSource, ways.O200K.patterns[0]],
    [o200k('', ''), ways.TEKKEN.patterns[0]],
    [String.raw`\p{N}{1,3}`, ways.DEEPSEEK3.patterns[0]],
    [deepseek3, ways.DEEPSEEK3.patterns[2]],
  ].flatMap(([source, pattern]) =>
    typeof source === 'string' && pattern instanceof RegExp ? [[source, pattern] as const] : [],
  ),
);
