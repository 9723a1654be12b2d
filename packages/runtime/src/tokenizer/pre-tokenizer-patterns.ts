import { byteLevelWords } from './byte-level.js';
import type { PreTokenizer } from './pre-tokenizer.js';
import { endingSpace, thousands } from './split-text.js';

// The pre-tokenizers of llama.cpp, from its source code.

/**
 * A pattern in Rust's and llama.cpp's syntax as a JavaScript expression: their \s is Unicode's White_Space
 * (JavaScript's \s has U+FEFF and lacks U+0085).
 */
function pattern(source: string): RegExp {
  return new RegExp(source.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}'), 'gu');
}

const CONTRACTIONS = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`;
const SPACES = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;
const UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const CJK = '[一-龥\u0800-一가-\ud7ff]+';

const gpt2 = byteLevelWords;
const digit = pattern(String.raw`\p{N}`);
const threeDigits = pattern('[0-9][0-9][0-9]');

/** The cl100k family: words with one leading mark, numbers of at most `digits` digits, newlines separate. */
const cl100k = (digits: string) =>
  pattern(
    String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}${digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|${SPACES}`,
  );

/** The o200k family: cl100k, and a change from lower to upper case ends a word. */
const o200k = (contractions: string, digits: string) =>
  pattern(
    String.raw`[^\r\n\p{L}\p{N}]?${UPPER}*${LOWER}+${contractions}|[^\r\n\p{L}\p{N}]?${UPPER}+${LOWER}*${contractions}` +
      String.raw`|\p{N}${digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${SPACES}`,
  );

export const GPT2: PreTokenizer = { patterns: [gpt2] };
export const DIGITS_THEN_GPT2: PreTokenizer = { patterns: [digit, gpt2] };
export const LLAMA3: PreTokenizer = { patterns: [cl100k('{1,3}')], wholeWordsFirst: true, addBos: true };
export const CL100K: PreTokenizer = { patterns: [cl100k('{1,3}')] };
export const QWEN2: PreTokenizer = { patterns: [cl100k('')] };
export const O200K: PreTokenizer = { patterns: [o200k(`${CONTRACTIONS}?`, '{1,3}')] };
export const BLOOM: PreTokenizer = { patterns: [pattern(String.raw` ?[^(\s|.,!?…。，、।۔،)]+`)] };

export const VIKING: PreTokenizer = { patterns: [...BLOOM.patterns, digit] };
export const TEKKEN: PreTokenizer = { patterns: [o200k('', '')], wholeWordsFirst: true, addBos: true };

export const QWEN35: PreTokenizer = {
  patterns: [
    pattern(
      String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|${SPACES}`,
    ),
  ],
};

export const DEFAULT: PreTokenizer = {
  patterns: [pattern(String.raw`[\p{P}\$\+<=>\^~\|]+`), gpt2, pattern(String.raw`\p{N}+`), threeDigits],
};

export const FALCON: PreTokenizer = {
  patterns: [pattern(String.raw`[\p{P}\$\+<=>\^~\|${'`'}]+`), gpt2, threeDigits],
};

export const DEEPSEEK_CODER: PreTokenizer = {
  patterns: [
    pattern(String.raw`[\r\n]`),
    pattern(String.raw`\s?\p{L}+`),
    pattern(String.raw`\s?\p{P}+`),
    pattern(CJK),
    digit,
  ],
};

/** DeepSeek-V3's: numbers, Chinese and Japanese, words with one leading mark, then `rest`. */
const deepseek3 = (rest: string): readonly RegExp[] => [
  pattern(String.raw`\p{N}{1,3}`),
  pattern('[一-龥぀-ゟ゠-ヿ]+'),
  pattern(
    String.raw`[!"#$%&'()*+,\-.\/:;<=>?@\[\\\]^_${'`'}\{\|\}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|${rest}`,
  ),
];

export const DEEPSEEK3: PreTokenizer = {
  patterns: deepseek3(String.raw` ?[\p{P}\p{S}]+[\r\n]*|${SPACES}`),
};

/** Every line break and every digit separate. */
export const SPARK2_5: PreTokenizer = {
  patterns: [...deepseek3(String.raw` ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+`), digit],
};

/** Blocks of characters, written "41-5A B5". */
const blocks = (...lines: readonly string[]): string =>
  lines
    .flatMap((line) => line.split(' '))
    .map((block) => block.replace(/[0-9A-F]+/g, '\\u{$&}'))
    .join('');

/** Letters with a case. */
const CASED = blocks(
  '41-5A 61-7A B5 C0-D6 D8-F6 F8-1BA 1BC-1BF 1C4-293 295-2AF 370-373 376 377 37B-37D 37F 386 388-38A',
  '38C 38E-3A1 3A3-3F5 3F7-481 48A-52F 531-556 10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF',
  '1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15 1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D',
  '1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4',
  '1FF6-1FFC 2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 212A-212D 212F-2134 2139 213C-213F',
  '2145-2149 214E 2183 2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2 2CF3 A640-A66D A680-A69B A722-A76F',
  'A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F 104B0-104D3',
  '104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943',
);

export const DEEPSEEK_LLM: PreTokenizer = {
  patterns: [
    pattern(String.raw`[\r\n]`),
    pattern(String.raw`\s?[${CASED}]+`),
    pattern(String.raw`\s?[!-\/:-~${blocks('FF01-FF0F FF1A-FF5E 2018-201F 3000-3002')}]+`),
    endingSpace,
    pattern(CJK),
    pattern(String.raw`\p{N}+`),
  ],
};

const WORDS = String.raw`[^\r\n\p{L}\p{N}]?\p{L}+`;
const SYMBOLS = String.raw` ?[^\s\p{L}\p{N}]+`;

export const JAIS2: PreTokenizer = {
  patterns: [
    pattern(
      String.raw`${CONTRACTIONS}|${WORDS}|\p{N}{1,3}|${SYMBOLS}[\r\n]*|\s*[\r\n]+` +
        [512, 256, 128, 64, 32, 16, 8, 4].map((length) => String.raw`|\s{${length}}(?!\S)`).join('') +
        String.raw`|\s{1,2}(?!\S)|\s`,
    ),
  ],
};

/** Numbers of at most three digits, then words with numbers of any length: the rest is short. */
export const MINICPM5: PreTokenizer = {
  patterns: [pattern(String.raw`\p{N}{1,3}`), cl100k('+')],
  wholeWordsFirst: true,
};

export const YOUTU: PreTokenizer = {
  patterns: [
    pattern(
      `[${blocks('AC00-D7A3 3131-318E')}]+|[${blocks('FF01 2026 201C 201D 2018 2019 2014 FF1A FF1B FF0C 3001-303F FE30-FE4F')}]+` +
        `|[${blocks('3105-312F')}]+|[${blocks('4E00-9FA5 3040-309F 30A0-30FF')}]+`,
    ),
    o200k(`${CONTRACTIONS}?`, ''),
  ],
  wholeWordsFirst: true,
};

export const CHAMELEON: PreTokenizer = {
  patterns: [
    pattern('<sentinel:[0-9]+>'),
    pattern('IMGIMG[A-I]{1,4}Z'),
    pattern(String.raw`[\t\n]|    |  `),
    digit,
    pattern(String.raw`[\p{P}!-\/:-@\[-${'`'}\{-~]`),
    gpt2,
  ],
  addBos: true,
};

/** The o200k family, with combining marks inside words. */
export const GRANITE_MULTILINGUAL: PreTokenizer = { ...O200K, wholeWordsFirst: true };

export const TINY_AYA: PreTokenizer = {
  patterns: [thousands(/[0-9]+\b/g), o200k(`${CONTRACTIONS}?`, '{1,3}')],
};

export const SUPERBPE: PreTokenizer = { patterns: [pattern(String.raw`\p{N}+`), thousands(/[0-9]+/g)] };

export const BAILING: PreTokenizer = {
  patterns: [
    pattern(
      String.raw`'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|${WORDS}|\p{N}|${SYMBOLS}[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`,
    ),
  ],
};

export const SEED_CODER: PreTokenizer = {
  patterns: [pattern(String.raw`${CONTRACTIONS}|${WORDS}|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|${SPACES}`)],
};

/** Korean words keep the spaces between them. */
export const EXAONE_MOE: PreTokenizer = {
  patterns: [
    pattern(
      String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|${SYMBOLS}[\r\n\/]?|\s*[\r\n]|\s+(?!\S)|\s+`,
    ),
  ],
};

const lines = pattern(String.raw`[^\n]+|\n+`);

export const LAGUNA: PreTokenizer = { patterns: [lines, cl100k('')] };

const HAN = String.raw`\p{Script=Han}`;
const upperNotHan = `(?:(?!${HAN})${UPPER})`;
const lowerNotHan = `(?:(?!${HAN})${LOWER})`;

export const KIMI_K2: PreTokenizer = {
  patterns: [
    pattern(
      String.raw`${HAN}+|[^\r\n\p{L}\p{N}]?${upperNotHan}*${lowerNotHan}+${CONTRACTIONS}?` +
        String.raw`|[^\r\n\p{L}\p{N}]?${upperNotHan}+${lowerNotHan}*${CONTRACTIONS}?` +
        String.raw`|\p{N}{1,3}|${SYMBOLS}[\r\n]*|${SPACES}`,
    ),
  ],
};

/** Asian scripts written without spaces. */
const ASIAN = blocks(
  '4E00-9FFF 3400-4DBF F900-FAFF 3040-309F 30A0-30FF FF65-FF9F 2F00-2FDF E40-E7F E80-EFF 1780-17FF',
  '1000-109F AA60-AA7F A9E0-A9FF AC00-D7AF 1100-11FF',
);

export const AFMOE: PreTokenizer = {
  patterns: [thousands(/\p{N}+/gu), pattern(`[${ASIAN}]+`), DEEPSEEK3.patterns[2]!],
};

/** Qwen2's without English contractions: a Turkish suffix stays in one piece with its apostrophe. */
export const UFAKZEKA: PreTokenizer = {
  patterns: [pattern(String.raw`${WORDS}|\p{N}|${SYMBOLS}[\r\n]*|${SPACES}`)],
};

/** Llama 3's, with combining marks and zero-width joiners inside words. */
export const K2_HORIZON: PreTokenizer = {
  patterns: [
    pattern(
      String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}\u200C\u200D]+|\p{N}{1,3}|${SYMBOLS}[\r\n]*|${SPACES}`,
    ),
  ],
};

/** BPE of characters, as in SentencePiece: no merge crosses a line end. */
export const SARVAM_MOE: PreTokenizer = { patterns: [lines], characters: 'space marks' };

export const GEMMA4: PreTokenizer = {
  ...SARVAM_MOE,
  wholeWordsFirst: /^\n+$/,
  addBos: true,
  alwaysBos: true,
};

export const WHITESPACE: PreTokenizer = { patterns: [pattern(String.raw`\S+`)], characters: 'no spaces' };
