import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenizerFromHuggingFace, tokenizerFromJson } from '../../src/tokenizer/index.js';
import { shared, sharedText, testWithShared } from './shared-data.js';
import { llamaCppCases, qwen2Tokenizer } from './vocabularies.js';

const open = (path: string, settings = {}) => tokenizerFromJson(JSON.parse(sharedText(path)), settings);

describe('tokenizer.json', () => {
  testWithShared('BERT: llama.cpp’s ids', () => {
    const bert = open('tokenizers/bert-uncased/tokenizer.json');
    const ids = llamaCppCases('bert-bge').map(({ text }) =>
      bert.encode(text, { addBos: false, addEos: false }),
    );
    expect(ids).toEqual(llamaCppCases('bert-bge').map((each) => each.ids));
    expect(bert.encode('Hello World')).toEqual([101, 7592, 2088, 102]);
    expect(bert.decode(bert.encode('hello world'))).toBe('hello world');
    expect(bert.decode(bert.encode('unbelievably'), { special: true })).toBe('[CLS] unbelievably [SEP]');
  });

  testWithShared('a byte-level tokenizer.json equals the same vocabulary in a GGUF file', () => {
    const vocab = JSON.parse(sharedText('tokenizers/qwen2-internvl2/vocab.json'));
    const json = JSON.parse(sharedText('tiny-hf/tiny_bpe_split_qwen2_tokenizer.json'));
    const merges = sharedText('tokenizers/qwen2-internvl2/merges.txt').split('\n').slice(1).filter(Boolean);
    const end = { id: 151645, content: '<|im_end|>', special: true };
    const qwen = tokenizerFromJson(
      { ...json, added_tokens: [end], model: { ...json.model, vocab, merges } },
      { tokenizerConfig: { eos_token: '<|im_end|>' } },
    );
    const gguf = qwen2Tokenizer();
    const book = sharedText('text/war-and-peace-300k.txt').slice(0, 50_000);
    for (const text of [book, ...llamaCppCases('qwen2').map((each) => each.text), 'a<|im_end|>b']) {
      expect(qwen.encode(text)).toEqual(gguf.encode(text));
      expect(qwen.decode(qwen.encode(text))).toBe(text);
      expect(qwen.encode(text, { special: 'parse' }).filter((id) => id === end.id).length).toBe(
        text.includes(end.content) ? 1 : 0,
      );
    }
    expect(qwen.eog).toEqual(new Set([end.id]));
  });

  testWithShared('Whisper: its post-processor frames the text', () => {
    const whisper = open('tokenizers/whisper/tokenizer.json');
    const ids = whisper.encode(' Ask not what your country');
    const body = whisper.encode(' Ask not what your country', { addBos: false, addEos: false });
    expect(whisper.addBos && whisper.addEos).toBe(true);
    expect(ids.slice(-body.length - 1, -1)).toEqual(body);
    expect(whisper.decode(ids)).toBe(' Ask not what your country');
    expect(whisper.decode(ids, { special: true })).toContain('<|startoftranscript|>');
  });

  testWithShared('the tiny tokenizers load and decode to the text', () => {
    const bpe = open('tiny-hf/tiny_bpe_split_qwen2_tokenizer.json');
    expect(bpe.decode(bpe.encode("I'LL go — 123 né\n"))).toBe("I'LL go — 123 né\n");
    expect(bpe.eog).toEqual(new Set([0, 1]));
    const unigram = open('tiny-hf/tiny_unigram_tokenizer.json');
    expect(unigram.decode(unigram.encode('the cat'))).toBe('the cat');
    const wordPiece = open('tiny-hf/tiny_wordpiece_tokenizer.json');
    expect(wordPiece.decode(wordPiece.encode('The cat'))).toBe('the cat');
  });

  testWithShared('text never becomes a special token of a Unigram vocabulary', () => {
    const unigram = open('tiny-hf/tiny_unigram_tokenizer.json');
    expect(unigram.encode('the</s>', { special: 'parse' })).toContain(2);
    expect(unigram.encode('the</s>')).not.toContain(2);
  });
});

describe('folder', () => {
  testWithShared('lone surrogates and a word of a million characters', () => {
    const word = 'x'.repeat(1_000_000);
    const bpe = open('tiny-hf/tiny_bpe_split_qwen2_tokenizer.json');
    expect(bpe.encode(word)).toHaveLength(1_000_000);
    const bert = open('tokenizers/bert-uncased/tokenizer.json');
    expect(bert.encode(word, { addBos: false, addEos: false })).toEqual([100]);
    const unigram = open('tiny-hf/tiny_unigram_tokenizer.json');
    expect(unigram.encode(word, { addBos: false, addEos: false })).toEqual([3, 0]);
    for (const tokenizer of [bpe, bert, unigram])
      for (const text of ['\ud83e', 'a\udd99b', '\udd99\ud83e'])
        expect(tokenizer.encode(text).every(Number.isInteger)).toBe(true);
  });

  testWithShared('BERT in a folder', async () => {
    const bert = await tokenizerFromHuggingFace(shared('tiny-bert-hf-dir/tiny_bert'));
    expect(bert.vocabSize).toBe(256);
    const ids = bert.encode('the');
    expect([ids[0], ids.at(-1)]).toEqual([2, 3]);
    expect(bert.isControl(2)).toBe(true);
  });

  describe('made here', () => {
    const model = {
      type: 'BPE',
      vocab: { a: 0, b: 1, ab: 2, '<e>': 3, '<b>': 4, '<|im_end|>': 5 },
      merges: ['a b'],
    };
    const added_tokens = [3, 4, 5].map((id) => ({
      id,
      content: Object.keys(model.vocab)[id],
      special: true,
    }));
    let folder = '';
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'quern-tokenizer-'));
      await write('tokenizer.json', { model, added_tokens });
    });
    afterEach(() => rm(folder, { recursive: true }));
    const write = (name: string, value: unknown) => writeFile(join(folder, name), JSON.stringify(value));

    test.each(['tokenizer.json', 'tokenizer_config.json', 'config.json'])(
      'a pipe or a folder as %s is refused without waiting',
      async (name) => {
        const refused = (message: string) =>
          expect(tokenizerFromHuggingFace(folder)).rejects.toMatchObject({
            code: 'BAD_VOCABULARY',
            message: expect.stringMatching(`${name}.*${message}`),
          });
        await rm(join(folder, name), { force: true });
        await mkdir(join(folder, name));
        await refused('regular file');
        if (process.platform === 'win32') return;
        await rm(join(folder, name), { recursive: true });
        execFileSync('mkfifo', [join(folder, name)]);
        await refused('regular file');
      },
    );

    test('tokenizer.json alone', async () => {
      const tokenizer = await tokenizerFromHuggingFace(folder);
      expect(tokenizer.encode('abab')).toEqual([2, 2]);
      expect(tokenizer.eog).toEqual(new Set([5]));
      expect([tokenizer.bos, tokenizer.eos]).toEqual([undefined, undefined]);
    });

    test('special tokens from the other files', async () => {
      await write('special_tokens_map.json', { bos_token: { content: '<b>' }, eos_token: '<b>' });
      await write('tokenizer_config.json', { eos_token: '<e>', add_bos_token: true });
      await write('generation_config.json', { eos_token_id: [3, 1, 99] });
      const tokenizer = await tokenizerFromHuggingFace(folder);
      expect([tokenizer.bos, tokenizer.eos]).toEqual([4, 3]);
      expect(tokenizer.eog).toEqual(new Set([5, 3, 1]));
      expect(tokenizer.encode('ab')).toEqual([4, 2]);
      expect(tokenizer.encode('ab', { addEos: true, addBos: false })).toEqual([2, 3]);
      expect(tokenizer.encode('ab<e>', { special: 'parse' })).toEqual([4, 2, 3]);
    });

    test('a SentencePiece vocabulary: bytes, spaces, and added tokens made of spaces', async () => {
      const bytes = Object.fromEntries(
        Array.from({ length: 256 }, (_, b) => [`<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`, b]),
      );
      const vocab = { ...bytes, '▁': 256, a: 257, '▁a': 258, '▁▁▁': 259 };
      await write('tokenizer.json', {
        normalizer: {
          type: 'Sequence',
          normalizers: [
            { type: 'Prepend', prepend: '▁' },
            { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
          ],
        },
        decoder: {
          type: 'Sequence',
          decoders: [
            { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
            { type: 'ByteFallback' },
            { type: 'Fuse' },
            { type: 'Strip', content: ' ', start: 1, stop: 0 },
          ],
        },
        model: { type: 'BPE', vocab, merges: ['▁ a'], byte_fallback: true },
        added_tokens: [{ id: 259, content: '▁▁▁', special: false }],
      });
      const tokenizer = await tokenizerFromHuggingFace(folder);
      expect(tokenizer.encode('a a🦙')).toEqual([258, 258, 0xf0, 0x9f, 0xa6, 0x99]);
      expect(tokenizer.decode([258, 258, 0xf0, 0x9f, 0xa6, 0x99])).toBe('a a🦙');
      expect(tokenizer.decode([258, 259, 257])).toBe('a   a');
    });

    test.each<[string, string | undefined, string, string?]>([
      ['no such file', undefined, 'has no tokenizer.json'],
      ['not JSON', '{', 'is not JSON'],
      ['a list', '[]', 'not a JSON object'],
      ['no vocabulary', '{"model": {"type": "BPE"}}', 'no vocabulary'],
      ['a huge id', '{"model": {"type": "BPE", "vocab": {"a": 1e9}}}', '1000000000'],
      [
        'an unknown model',
        '{"model": {"type": "New", "vocab": {"a": 0}}, "decoder": {"type": "New"}}',
        '"New"',
        'UNKNOWN_TOKENIZER',
      ],
      [
        'an unknown step',
        '{"model": {"type": "WordLevel", "vocab": {"a": 0}}, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Upper"}]}}',
        'normalizer.normalizers[0] is of the type "Upper"',
        'UNKNOWN_TOKENIZER',
      ],
      [
        'steps nested deeply',
        `{"model": {"vocab": {"a": 0}}, "decoder": ${'{"type": "Sequence", "decoders": ['.repeat(20_000)}${']}'.repeat(20_000)}}`,
        'nested more than 16',
      ],
      [
        'an added token far beyond the vocabulary',
        '{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 1e8, "content": "<x>", "special": true}]}',
        '100000000',
      ],
      [
        'an added token beyond the largest array',
        '{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 4e9, "content": "<x>", "special": true}]}',
        '4000000000',
      ],
      ['a merge of an unknown token', '{"model": {"vocab": {"a": 0}, "merges": ["a b"]}}', 'model.merges[0]'],
      ['a merge of three', '{"model": {"vocab": {"a": 0}, "merges": ["a a a"]}}', 'merges[0] is "a a a"'],
      ['a merge of one', '{"model": {"vocab": {"a": 0}, "merges": ["aa"]}}', 'expected two pieces'],
      [
        'a huge pattern',
        `{"model": {"vocab": {"a": 0}}, "normalizer": {"type": "Replace", "pattern": {"Regex": "${'a'.repeat(70_000)}"}, "content": ""}}`,
        'has 70000 characters; at most 65536',
      ],
      [
        'an invalid pattern',
        '{"model": {"vocab": {"a": 0}}, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}}',
        'pre_tokenizer.pattern.Regex cannot be used',
      ],
    ])('refuses: %s', async (_, text, message, code = 'BAD_VOCABULARY') => {
      if (text === undefined) await rm(join(folder, 'tokenizer.json'));
      else await writeFile(join(folder, 'tokenizer.json'), text);
      await expect(tokenizerFromHuggingFace(folder)).rejects.toThrow(
        expect.objectContaining({
          name: 'TokenizerError',
          code,
          message: expect.stringContaining(message),
        }),
      );
    });
  });
});
