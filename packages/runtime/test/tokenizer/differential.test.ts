import { TokenStream, tokenizerFromJson } from '../../src/tokenizer/index.js';
import { addedTokenFiles, files, type JsonFile } from './json-files.js';
import { complete, oracle, withOracle } from './oracle.js';
import { sharedText, testWithShared } from './shared-data.js';
import { prose, random } from './texts.js';

// Every part of tokenizer.json's format, compared with Hugging Face's own tokenizers.

/** We decode added tokens with the file's spelling; Hugging Face's library normalises the spelling. */
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

describe('third-party files', () => {
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
