import { byteCharacters } from '../../src/tokenizer/byte-level.js';

// tokenizer.json files, each for one part of the format.

export interface JsonFile {
  readonly [part: string]: unknown;
  readonly model: object;
}

const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'];
const others = [
  ...`.,;:!?'"-_()[]<>|/$+=~^#@&*%éèüßñçøåæÀÉÑœłşğıžřПриветмирабвгд你好世界日本語カタカナ漢한국어αβγδεσςΣ🦙😀`,
];
const unique = (list: readonly string[]) => [...new Set(list)];
const syllables = 'th he in er an re nd on en at ou ed ha to or it is hi es ng and the ing'.split(' ');

const ids = (spellings: readonly string[]) =>
  Object.fromEntries(unique(spellings).map((spelling, id) => [spelling, id]));

/** Merges that build each word from left to right, and the intermediate tokens. */
function merging(words: readonly (readonly string[])[]) {
  const merges = new Set<string>();
  const made: string[] = [];
  for (const word of words) {
    let left = word[0]!;
    for (const right of word.slice(1)) {
      merges.add(`${left} ${right}`);
      left += right;
      made.push(left);
    }
  }
  return { merges: [...merges], made };
}

const spelled = merging([
  ...syllables.map((word) => [...word]),
  ...syllables.map((word) => ['Ġ', ...word]),
  ['Ã', '©'],
  ['Ġ', 'Ġ'],
]);

/** Byte-level BPE. */
export const byteLevel = {
  type: 'BPE',
  vocab: ids([...byteCharacters, ...spelled.made]),
  merges: spelled.merges,
};

const marked = merging([
  ...syllables.map((word) => [...word]),
  ...syllables.map((word) => ['▁', ...word]),
  ['▁', '▁'],
]);
const bytes = Array.from({ length: 256 }, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`);
const plainSymbols = ['<unk>', ...letters, ...others, '▁', ...marked.made];

/** Character BPE. */
export const characters = {
  type: 'BPE',
  vocab: ids(plainSymbols),
  merges: marked.merges.map((merge) => merge.split(' ')),
  unk_token: '<unk>',
};

/** `characters` with byte fallback. */
export const fallingBack = {
  ...characters,
  vocab: ids([...plainSymbols, ...bytes]),
  byte_fallback: true,
  fuse_unk: true,
};

const pieces: [string, number][] = unique(['<unk>', '▁', ...letters, ...others, ...marked.made]).map(
  (spelling, i) => [spelling, spelling === '<unk>' ? 0 : -4 - spelling.length * 0.37 - (i % 17) * 0.11],
);

export const unigram = { type: 'Unigram', vocab: pieces, unk_id: 0 };

const wordPieces = [
  '[UNK]',
  ...letters,
  ...others,
  ...syllables,
  ...[...letters, ...others, ...syllables].map((part) => `##${part}`),
];

export const wordPiece = {
  type: 'WordPiece',
  vocab: ids(wordPieces),
  unk_token: '[UNK]',
  continuing_subword_prefix: '##',
  max_input_chars_per_word: 30,
};

const words = ['<unk>', ...letters, ...others, ...syllables, 'The', 'cat', ' the', 'Armée', '123', '1', ' '];
export const wordLevel = { type: 'WordLevel', vocab: ids(words), unk_token: '<unk>' };

/** Ids that show normalisation and splitting: one token per character; unknown characters as bytes. */
const spelling = { ...fallingBack, merges: [], vocab: ids(['<unk>', ...bytes]), fuse_unk: false };

const regex = (Regex: string) => ({ Regex });
const gpt4 = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

const normalizers: Record<string, unknown> = {
  bert: {
    type: 'BertNormalizer',
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true,
  },
  'bert, cased': {
    type: 'BertNormalizer',
    clean_text: false,
    handle_chinese_chars: true,
    strip_accents: true,
    lowercase: false,
  },
  NFC: { type: 'NFC' },
  NFD: { type: 'NFD' },
  NFKC: { type: 'NFKC' },
  NFKD: { type: 'NFKD' },
  lowercase: { type: 'Lowercase' },
  'strip accents': { type: 'Sequence', normalizers: [{ type: 'NFD' }, { type: 'StripAccents' }] },
  strip: { type: 'Strip', strip_left: true, strip_right: true },
  'strip left': { type: 'Strip', strip_left: true, strip_right: false },
  replace: { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
  'replace a pattern': { type: 'Replace', pattern: regex('[aeiou]+|\\s{2,}'), content: '_$1_' },
  prepend: { type: 'Prepend', prepend: '▁' },
  nmt: { type: 'Nmt' },
  'byte level': { type: 'ByteLevel' },
};

const split = (pattern: unknown, behavior: string, invert = false) => ({
  type: 'Split',
  pattern,
  behavior,
  invert,
});
const behaviors = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'];

const preTokenizers: Record<string, unknown> = {
  bert: { type: 'BertPreTokenizer' },
  'byte level': { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
  'byte level, with a space': {
    type: 'ByteLevel',
    add_prefix_space: true,
    trim_offsets: true,
    use_regex: true,
  },
  whitespace: { type: 'Whitespace' },
  'whitespace split': { type: 'WhitespaceSplit' },
  'a delimiter': { type: 'CharDelimiterSplit', delimiter: 'e' },
  digits: { type: 'Digits', individual_digits: false },
  'single digits': { type: 'Digits', individual_digits: true },
  scripts: { type: 'UnicodeScripts' },
  'fixed length': { type: 'FixedLength', length: 5 },
  metaspace: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
  'metaspace, first': { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true },
  'metaspace, never': { type: 'Metaspace', replacement: '_', prepend_scheme: 'never', split: false },
  ...Object.fromEntries(
    behaviors.flatMap((behavior) => [
      [`punctuation ${behavior}`, { type: 'Punctuation', behavior }],
      [`split ${behavior}`, split(regex('\\s+|\\d'), behavior)],
      [`split, inverted ${behavior}`, split(regex('\\w+'), behavior, true)],
      [`split at a string ${behavior}`, split({ String: 'th' }, behavior)],
    ]),
  ),
  'GPT-4': split(regex(gpt4), 'Isolated'),
  'empty matches': split(regex('(?=(\\d{3})+(?!\\d))'), 'Isolated'),
  'lines and anchors': split(regex('^.|\\b|$'), 'Isolated'),
  'Ruby classes': split(regex('[[:punct:]]+|[[:upper:]&&[^AEIOU]]|\\h{2}|(?<=a)n|a++'), 'Isolated'),
  several: {
    type: 'Sequence',
    pretokenizers: [
      split(regex('\\p{N}{1,3}'), 'Isolated'),
      { type: 'WhitespaceSplit' },
      { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true },
      { type: 'Punctuation', behavior: 'MergedWithPrevious' },
    ],
  },
  'bytes, then digits': {
    type: 'Sequence',
    pretokenizers: [
      { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      { type: 'Digits', individual_digits: true },
    ],
  },
};

const spaces = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true };

const models: Record<string, JsonFile> = {
  'byte-level BPE': {
    model: byteLevel,
    pre_tokenizer: preTokenizers['byte level'],
    decoder: preTokenizers['byte level'],
  },
  'whole words first': {
    model: { ...byteLevel, ignore_merges: true },
    pre_tokenizer: preTokenizers['byte level'],
    decoder: preTokenizers['byte level'],
  },
  'BPE of characters': { model: characters, pre_tokenizer: spaces, decoder: spaces },
  'fused unknowns': { model: { ...characters, fuse_unk: true }, pre_tokenizer: spaces, decoder: spaces },
  'BPE without unknown': {
    model: { ...characters, unk_token: null },
    pre_tokenizer: spaces,
    decoder: spaces,
  },
  'byte fallback': {
    model: fallingBack,
    normalizer: { type: 'Sequence', normalizers: [normalizers.prepend, normalizers.replace] },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
  },
  'ends of words': {
    model: {
      type: 'BPE',
      vocab: ids([
        '<unk>',
        ...letters,
        ...letters.map((each) => `${each}</w>`),
        'th',
        'the</w>',
        'he</w>',
        'in',
        'ing</w>',
        'g</w>',
      ]),
      merges: ['t h', 'th e</w>', 'h e</w>', 'i n', 'in g</w>'],
      unk_token: '<unk>',
      end_of_word_suffix: '</w>',
    },
    pre_tokenizer: preTokenizers.whitespace,
    decoder: { type: 'BPEDecoder', suffix: '</w>' },
  },
  'parts of words': {
    model: {
      type: 'BPE',
      vocab: ids([
        '<unk>',
        ...letters,
        ...letters.map((each) => `##${each}`),
        'th',
        '##th',
        'the',
        '##he',
        'in',
        '##in',
        '##ing',
        'ing',
      ]),
      merges: ['t ##h', '##t ##h', 'th ##e', '##h ##e', 'i ##n', '##i ##n', '##in ##g', 'in ##g'],
      unk_token: '<unk>',
      continuing_subword_prefix: '##',
    },
    pre_tokenizer: preTokenizers.whitespace,
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  },
  unigram: { model: unigram, pre_tokenizer: spaces, decoder: spaces },
  'unigram, split before': {
    model: unigram,
    pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, spaces] },
    decoder: spaces,
  },
  'unigram with bytes': {
    model: {
      type: 'Unigram',
      vocab: [...pieces, ...bytes.map((byte) => [byte, -20])],
      unk_id: 0,
      byte_fallback: true,
    },
    pre_tokenizer: spaces,
    decoder: { type: 'Sequence', decoders: [{ type: 'ByteFallback' }, spaces] },
  },
  'word pieces': {
    model: wordPiece,
    normalizer: normalizers.bert,
    pre_tokenizer: preTokenizers.bert,
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  },
  'word pieces, not cleaned': {
    model: wordPiece,
    normalizer: normalizers.bert,
    pre_tokenizer: preTokenizers.bert,
    decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
  },
  'word level': { model: wordLevel, pre_tokenizer: preTokenizers.whitespace },
  CTC: {
    model: wordLevel,
    pre_tokenizer: split({ String: '' }, 'Isolated'),
    decoder: { type: 'CTC', pad_token: 'e', word_delimiter_token: 't', cleanup: true },
  },
  'all kinds of steps': {
    model: wordLevel,
    pre_tokenizer: preTokenizers.whitespace,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: regex('[aeiou]'), content: '·' },
        { type: 'Strip', content: 't', start: 1, stop: 0 },
        { type: 'Fuse' },
        { type: 'Replace', pattern: { String: 'h·' }, content: 'HE' },
        { type: 'Strip', content: 'T', start: 2, stop: 0 },
      ],
    },
  },
};

const special = (id: string, ...list: number[]) => ({ [id]: { id, ids: list, tokens: list.map(() => id) } });

const processors: Record<string, unknown> = {
  template: {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: 'a', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: 'b', type_id: 0 } },
    ],
    pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
    special_tokens: { ...special('a', 3, 4), ...special('b', 5) },
  },
  bert: { type: 'BertProcessing', sep: ['b', 5], cls: ['a', 3] },
  roberta: {
    type: 'RobertaProcessing',
    sep: ['b', 5],
    cls: ['a', 3],
    trim_offsets: true,
    add_prefix_space: false,
  },
  several: {
    type: 'Sequence',
    processors: [
      { type: 'ByteLevel', trim_offsets: true, add_prefix_space: false, use_regex: true },
      { type: 'BertProcessing', sep: ['b', 5], cls: ['a', 3] },
    ],
  },
};

/** Every part of the format, with its name. */
export const files: readonly (readonly [name: string, file: JsonFile])[] = [
  ...Object.entries(normalizers).map(
    ([name, normalizer]) => [`normalizer: ${name}`, { normalizer, model: spelling }] as const,
  ),
  ...Object.entries(preTokenizers).map(
    ([name, pre_tokenizer]) => [`pre-tokenizer: ${name}`, { pre_tokenizer, model: unigram }] as const,
  ),
  ...Object.entries(preTokenizers).map(
    ([name, pre_tokenizer]) =>
      [
        `pre-tokenizer, words: ${name}`,
        { pre_tokenizer, model: { ...wordPiece, max_input_chars_per_word: 1 } },
      ] as const,
  ),
  ...Object.entries(models).map(([name, file]) => [`model: ${name}`, file] as const),
  ...Object.entries(processors).map(
    ([name, post_processor]) => [`post-processor: ${name}`, { post_processor, model: characters }] as const,
  ),
];

/** Added tokens with all combinations of flags, under several normalisers. */
export const addedTokenFiles: readonly (readonly [name: string, file: JsonFile])[] = [
  null,
  'lowercase',
  'strip',
  'prepend',
].flatMap((normalizer) =>
  [false, true].map((isSpecial) => {
    const flags = (n: number) => ({
      single_word: (n & 1) > 0,
      lstrip: (n & 2) > 0,
      rstrip: (n & 4) > 0,
      normalized: (n & 8) > 0,
    });
    const size = Object.keys(characters.vocab).length;
    const added_tokens = Array.from({ length: 16 }, (_, n) => ({
      id: size + n,
      content: `<T${n}>`,
      special: isSpecial,
      ...flags(n),
    }));
    const words = Array.from({ length: 16 }, (_, n) => ({
      id: size + 16 + n,
      content: `Tok${String.fromCharCode(97 + n)}`,
      special: isSpecial,
      ...flags(n),
    }));
    return [
      `${isSpecial ? 'special' : 'added'} tokens, ${normalizer ?? 'no'} normalizer`,
      {
        added_tokens: [...added_tokens, ...words],
        normalizer: normalizer === null ? null : normalizers[normalizer],
        pre_tokenizer: spaces,
        decoder: spaces,
        model: characters,
      },
    ] as const;
  }),
);
