import { TokenizerError } from './error.js';

/** How a byte-level BPE vocabulary wants its text split into words before merging. */
export interface PreTokenizer {
  /** Applied one after another: each splits the pieces of the one before into matches and what lies between them. */
  patterns: readonly RegExp[];
  /** A word that is a token is taken whole, without looking at the merges. */
  wholeWordsFirst?: boolean;
  /** A prompt begins with the beginning-of-sequence token unless the file says otherwise. */
  addBos?: boolean;
}

/**
 * A pattern as Rust and llama.cpp write it, in JavaScript: their \s is Unicode's White_Space (JavaScript's own has
 * U+FEFF and lacks U+0085).
 */
function pattern(source: string): RegExp {
  return new RegExp(source.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}'), 'gu');
}

const CONTRACTIONS = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`;
const SPACES = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;
const UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`;
const LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`;
const CJK = '[一-龥\u0800-一가-\ud7ff]+';

const gpt2 = pattern(String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`);
const digit = pattern(String.raw`\p{N}`);
const threeDigits = pattern('[0-9][0-9][0-9]');

/** The cl100k family: words with one leading mark, numbers of at most `digits`, newlines apart. */
const cl100k = (digits: string) =>
  pattern(
    String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}${digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|${SPACES}`,
  );

/** The o200k family: as cl100k, and a change from lower to upper case also ends a word. */
const o200k = (contractions: string, digits: string) =>
  pattern(
    String.raw`[^\r\n\p{L}\p{N}]?${UPPER}*${LOWER}+${contractions}|[^\r\n\p{L}\p{N}]?${UPPER}+${LOWER}*${contractions}` +
      String.raw`|\p{N}${digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${SPACES}`,
  );

const GPT2: PreTokenizer = { patterns: [gpt2] };
const DIGITS_THEN_GPT2: PreTokenizer = { patterns: [digit, gpt2] };
const LLAMA3: PreTokenizer = { patterns: [cl100k('{1,3}')], wholeWordsFirst: true, addBos: true };
const CL100K: PreTokenizer = { patterns: [cl100k('{1,3}')] };
const QWEN2: PreTokenizer = { patterns: [cl100k('')] };
const O200K: PreTokenizer = { patterns: [o200k(`${CONTRACTIONS}?`, '{1,3}')] };
const BLOOM: PreTokenizer = { patterns: [pattern(String.raw` ?[^(\s|.,!?…。，、।۔،)]+`)] };

const QWEN35: PreTokenizer = {
  patterns: [
    pattern(
      String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|${SPACES}`,
    ),
  ],
};

const DEFAULT: PreTokenizer = {
  patterns: [pattern(String.raw`[\p{P}\$\+<=>\^~\|]+`), gpt2, pattern(String.raw`\p{N}+`), threeDigits],
};

const FALCON: PreTokenizer = {
  patterns: [pattern(String.raw`[\p{P}\$\+<=>\^~\|${'`'}]+`), gpt2, threeDigits],
};

const DEEPSEEK_CODER: PreTokenizer = {
  patterns: [
    pattern(String.raw`[\r\n]`),
    pattern(String.raw`\s?\p{L}+`),
    pattern(String.raw`\s?\p{P}+`),
    pattern(CJK),
    digit,
  ],
};

const DEEPSEEK3: PreTokenizer = {
  patterns: [
    pattern(String.raw`\p{N}{1,3}`),
    pattern('[一-龥぀-ゟ゠-ヿ]+'),
    pattern(
      String.raw`[!"#$%&'()*+,\-.\/:;<=>?@\[\\\]^_${'`'}\{\|\}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+` +
        String.raw`| ?[\p{P}\p{S}]+[\r\n]*|${SPACES}`,
    ),
  ],
};

/** By the names that GGUF files use in `tokenizer.ggml.pre`; the same split as llama.cpp's for each. */
const PRE_TOKENIZERS: Readonly<Record<string, PreTokenizer>> = {
  default: DEFAULT,
  'gpt-2': GPT2,
  'phi-2': GPT2,
  mpt: GPT2,
  olmo: GPT2,
  jais: GPT2,
  gigachat: GPT2,
  exaone4: GPT2,
  mellum: GPT2,
  trillion: GPT2,
  starcoder: DIGITS_THEN_GPT2,
  refact: DIGITS_THEN_GPT2,
  'command-r': DIGITS_THEN_GPT2,
  smollm: DIGITS_THEN_GPT2,
  codeshell: DIGITS_THEN_GPT2,
  exaone: DIGITS_THEN_GPT2,
  'minerva-7b': DIGITS_THEN_GPT2,
  'llama-bpe': LLAMA3,
  llama3: LLAMA3,
  'llama-v3': LLAMA3,
  falcon3: LLAMA3,
  'falcon-h1': LLAMA3,
  pixtral: LLAMA3,
  'midm-2.0': LLAMA3,
  lfm2: LLAMA3,
  dbrx: CL100K,
  'smaug-bpe': CL100K,
  glm4: CL100K,
  'chatglm-bpe': CL100K,
  qwen2: QWEN2,
  'deepseek-r1-qwen': QWEN2,
  kormo: QWEN2,
  megrez: QWEN2,
  stablelm2: QWEN2,
  hunyuan: QWEN2,
  'grok-2': QWEN2,
  'solar-open': QWEN2,
  qwen35: QWEN35,
  tekken: { patterns: [o200k('', '')], wholeWordsFirst: true, addBos: true },
  'gpt-4o': O200K,
  llama4: O200K,
  kanana2: O200K,
  'minimax-m2': O200K,
  'deepseek-coder': DEEPSEEK_CODER,
  'deepseek-v3': DEEPSEEK3,
  'hunyuan-dense': DEEPSEEK3,
  falcon: FALCON,
  bloom: BLOOM,
  'poro-chat': BLOOM,
  'gpt3-finnish': BLOOM,
  viking: { patterns: [...BLOOM.patterns, digit] },
};

/** The names that `preTokenizer` knows. */
export const preTokenizerNames: readonly string[] = Object.keys(PRE_TOKENIZERS);

/** @throws TokenizerError UNKNOWN_PRETOKENIZER */
export function preTokenizer(name: string): PreTokenizer {
  const known = Object.hasOwn(PRE_TOKENIZERS, name) ? PRE_TOKENIZERS[name] : undefined;
  if (known) return known;
  const names = preTokenizerNames.join(', ');
  throw new TokenizerError(
    'UNKNOWN_PRETOKENIZER',
    `tokenizer.ggml.pre is "${name}", which this version cannot split text for; it knows ${names}`,
  );
}

/** Patterns of tokenizer.json files that are ours to run, by their source. */
const KNOWN: ReadonlyMap<string, RegExp> = new Map();

export const knownPattern = (source: string): RegExp | undefined => KNOWN.get(source);
