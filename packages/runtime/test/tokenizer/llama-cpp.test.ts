import type { Tokenizer } from '../../src/tokenizer/index.js';
import { sharedText, testWithShared } from './shared-data.js';
import { ggufTokenizer, llamaCppCases, qwen2Tokenizer } from './vocabularies.js';

const tokenizers: Record<string, () => Promise<Tokenizer>> = {
  'llama-spm': () => ggufTokenizer('llamacpp-vocab/ggml-vocab-llama-spm.gguf'),
  'gpt-2': () => ggufTokenizer('llamacpp-vocab/ggml-vocab-gpt-2.gguf'),
  qwen2: async () => qwen2Tokenizer(),
};

for (const [name, open] of Object.entries(tokenizers)) {
  describe(name, () => {
    testWithShared('llama.cpp’s ids for all its cases', async () => {
      const tokenizer = await open();
      const cases = llamaCppCases(name);
      expect(cases.length).toBe(47);
      for (const special of ['text', 'parse'] as const) {
        const ids = cases.map(({ text }) => tokenizer.encode(text, { addBos: false, special }));
        expect(ids).toEqual(cases.map((each) => each.ids));
      }
    });

    testWithShared('every case decodes to its text', async () => {
      const tokenizer = await open();
      for (const { text, ids } of llamaCppCases(name)) expect(tokenizer.decode(ids)).toBe(text);
    });

    testWithShared('a book decodes to its text', async () => {
      const tokenizer = await open();
      const book = sharedText('text/war-and-peace-300k.txt');
      expect(tokenizer.decode(tokenizer.encode(book))).toBe(book);
    });
  });
}

describe('bert-bge', () => {
  testWithShared('llama.cpp’s ids for all its cases', async () => {
    const tokenizer = await ggufTokenizer('llamacpp-vocab/ggml-vocab-bert-bge.gguf');
    const cases = llamaCppCases('bert-bge');
    const ends = { addBos: false, addEos: false };
    expect(cases.map(({ text }) => tokenizer.encode(text, ends))).toEqual(cases.map(({ ids }) => ids));
    expect(tokenizer.encode('Führer')).toEqual([101, 11865, 17875, 102]);
    expect(tokenizer.decode(tokenizer.encode('Hello, unbelievable world'))).toBe(
      'hello , unbelievable world',
    );
  });

  testWithShared(
    'lone surrogates are dropped, a very long word is unknown, accents and case are ignored',
    async () => {
      const tokenizer = await ggufTokenizer('llamacpp-vocab/ggml-vocab-bert-bge.gguf');
      expect(tokenizer.encode('a\ud800b \udc00')).toEqual(tokenizer.encode('ab'));
      expect(tokenizer.encode('x'.repeat(1_000_000))).toEqual([101, 100, 102]);
      expect(tokenizer.encode('ÉTÉ\u0301')).toEqual(tokenizer.encode('ete'));
      expect(tokenizer.encode('[SEP]')).toEqual([101, 1031, 19802, 1033, 102]);
      expect(tokenizer.encode('[SEP]', { special: 'parse' })).toEqual([101, 102, 102]);
    },
  );
});
