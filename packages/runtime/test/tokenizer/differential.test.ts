import fc from 'fast-check';
import { TokenStream, tokenizerFromJson } from '../../src/tokenizer/index.js';
import { addedTokenFiles, files, type JsonFile } from './json-files.js';
import { oracle } from './oracle.js';
import { sharedText, testWithShared } from './shared-data.js';

// Every part of the format of tokenizer.json, held against Hugging Face's own tokenizers.

const complete = (file: object) => ({
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
  decoder: null,
  ...file,
});

const prose = [
  '',
  ' ',
  'The cat and the hat, in 1234567 words: "it is", she said.',
  "I'LL go — don't you?  Armée française; naïve café\u0301.\n\n\tNew line\r\n",
  'Привет, мир! Ελλάς ΣΟΦΟΣ σας. İstanbul ıİ ß ẞ ﬁ ½ ² Ⅷ ①',
  'どこで生れ。Yes カタカナー 漢字 𠀀𪛖𫝀𬺰 한국어',
  'a\u0085b\u00a0c\u2003d\u3000e\u200bf\ufeffg\u2028h\u180ei',
  'e\u0301 a\u0300\u0323 o\u0308 \u0301x क्षि ไทย 🦙👨‍👩‍👧🏽 🇫🇷 \u0000\u0001\u007f\ufffd\u00ad',
  '   leading and trailing   ',
  '$1+2=3 <tag> `code` ~x^2|y| #hash @you a_b_c ¿qué? «so»',
  'the the  the   thethe\n\nthe 1 22 333 4444 55555',
];

const range = (first: number, last: number) =>
  fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code));

/** Not what one Unicode version assigned and another had not: blocks that have long been full. */
const someText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ' ',
        '  ',
        '\n',
        '\t',
        '\r\n',
        '\u0085',
        '\u00a0',
        "'s",
        'the',
        'Th',
        'ing',
        '123',
        '▁',
        '_',
        '-',
      ),
      range(0x20, 0x7e),
      range(0xa0, 0x17f),
      range(0x391, 0x3a1),
      range(0x410, 0x44f),
      range(0x4e00, 0x4e40),
      range(0x3041, 0x3090),
      range(0x20000, 0x20020),
      range(0x1f600, 0x1f640),
      range(0x300, 0x30a),
      range(0x2000, 0x200f),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

const random = fc.sample(someText, { seed: 7, numRuns: 60 });
const withOracle = oracle ? test : test.skip;

/** Tokens that were added are decoded as the file spells them; theirs come out normalised. */
const spellsAlike = ({ added_tokens, normalizer }: JsonFile) => !added_tokens || !normalizer;

async function compare(file: JsonFile, texts: readonly string[], isTyped = false): Promise<void> {
  const ours = tokenizerFromJson(file);
  const theirs = oracle!(complete(isTyped ? withoutSpecials(file) : file));
  for (const text of texts) {
    const ids = (await theirs.encode(text, null, { addSpecialTokens: true })).getIds();
    expect({ text, ids: ours.encode(text, { special: isTyped ? 'text' : 'parse' }) }).toEqual({ text, ids });
    if (isTyped || !spellsAlike(file)) continue;
    const stream = new TokenStream(ours, { special: true });
    expect(ids.map((id) => stream.push(id)).join('') + stream.flush()).toBe(
      ours.decode(ids, { special: true }),
    );
    for (const special of [true, false])
      expect({ ids, text: ours.decode(ids, { special }) }).toEqual({
        ids,
        text: await theirs.decode(ids, !special),
      });
  }
}

const withoutSpecials = (file: JsonFile): JsonFile => {
  const added: readonly { special: boolean }[] = Array.isArray(file.added_tokens) ? file.added_tokens : [];
  return { ...file, added_tokens: added.filter(({ special }) => !special) };
};

withOracle.each(files)('%s', (_, file) => compare(file, [...prose, ...random]));

describe('added tokens', () => {
  const spellings = [
    ...Array.from({ length: 16 }, (_, n) => `<T${n}>`),
    ...Array.from({ length: 16 }, (_, n) => `Tok${String.fromCharCode(97 + n)}`),
  ];
  const around = ['', ' ', 'x', '  ', '\n', '.', 'é', '1'];
  const texts = [
    ...spellings.flatMap((token) => around.map((each) => `a${each}${token}${each}b`)),
    ...spellings.map((token) => `${token} ${token.toLowerCase()} ${token.toUpperCase()}`),
    `  ${spellings.join('  ')}  `,
    spellings.join(''),
  ];
  withOracle.each(addedTokenFiles)('parsed: %s', (_, file) => compare(file, texts));
  withOracle.each(addedTokenFiles)('typed: %s', (_, file) => compare(file, texts, true));
});

describe('files of others', () => {
  const shared = [
    'tokenizers/bert-uncased/tokenizer.json',
    'tokenizers/whisper/tokenizer.json',
    'tiny-bert-hf-dir/tiny_bert/tokenizer.json',
    'tiny-bert-hf-dir/tiny_nomic/tokenizer.json',
    'tiny-hf/tiny_bpe_split_qwen2_tokenizer.json',
    'tiny-hf/tiny_unigram_tokenizer.json',
    'tiny-hf/tiny_wordpiece_tokenizer.json',
  ];
  for (const path of oracle ? shared : [])
    testWithShared(path, async () => {
      const file = { ...JSON.parse(sharedText(path)), truncation: null, padding: null };
      const book = sharedText('text/war-and-peace-300k.txt').slice(0, 20_000);
      await compare(file, [...prose, ...random, book]);
    });
});
