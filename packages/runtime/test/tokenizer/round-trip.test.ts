import fc from 'fast-check';
import { runs } from '../../../../test-scope.js';
import { codePoint } from '../../../../test-strings.js';
import type { Tokenizer } from '../../src/tokenizer/index.js';
import { testWithShared } from './shared-data.js';
import { ggufTokenizer, qwen2Tokenizer } from './vocabularies.js';

const tokenizers: Record<string, () => Promise<Tokenizer>> = {
  'llama-spm': () => ggufTokenizer('llamacpp-vocab/ggml-vocab-llama-spm.gguf'),
  'gpt-2': () => ggufTokenizer('llamacpp-vocab/ggml-vocab-gpt-2.gguf'),
  qwen2: async () => qwen2Tokenizer(),
};

const range = (first: number, last: number) =>
  fc.integer({ min: first, max: last }).map((code) => String.fromCodePoint(code));

/** Letters, all kinds of spaces, emoji, CJK, Arabic, Devanagari, combining marks, special tokens, any code point. */
const someText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: codePoint }),
      fc.constantFrom(
        ' ',
        '  ',
        '\n',
        '\r\n',
        '\t',
        '\u0085',
        '\u00a0',
        '\u3000',
        '\ufeff',
        '\u2581',
        "'s",
        "'LL",
      ),
      fc.constantFrom('<s>', '</s>', '<|im_end|>', '<|endoftext|>', '<0x0A>', '<unk>', '\0'),
      range(0x1f300, 0x1faff),
      range(0x4e00, 0x9fff),
      range(0x600, 0x6ff),
      range(0x900, 0x97f),
      range(0x300, 0x36f),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

for (const [name, open] of Object.entries(tokenizers)) {
  describe(name, () => {
    testWithShared('decode(encode(text)) is the text, and no text becomes a control token', async () => {
      const tokenizer = await open();
      fc.assert(
        fc.property(someText, (text) => {
          const ids = tokenizer.encode(text, { addBos: false });
          expect(ids.filter((id) => tokenizer.isControl(id))).toEqual([]);
          // SentencePiece writes a space as ▁ and cannot distinguish the two
          const expected = name === 'llama-spm' ? text.replaceAll('\u2581', ' ') : text;
          expect(tokenizer.decode(ids)).toBe(expected);
        }),
        { numRuns: runs(1000) },
      );
    });

    testWithShared('lone surrogates are U+FFFD', async () => {
      const tokenizer = await open();
      for (const text of ['\ud83e', 'a\udd99b', '\udd99\ud83e', 'x\ud83e\ud83e\udd99']) {
        const replaced = text.replace(/\p{Surrogate}/gu, '\ufffd');
        expect(tokenizer.encode(text)).toEqual(tokenizer.encode(replaced));
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(replaced);
      }
    });

    testWithShared('a word of 200 000 characters takes no quadratic time', async () => {
      const tokenizer = await open();
      const word = 'abcdefghij'.repeat(20_000);
      expect(tokenizer.decode(tokenizer.encode(word))).toBe(word);
    });

    testWithShared('ids outside the vocabulary are refused', async () => {
      const tokenizer = await open();
      for (const id of [-1, tokenizer.vocabSize, 0.5, Number.NaN]) {
        const refused = expect.objectContaining({ name: 'TokenizerError', code: 'BAD_TOKEN' });
        expect(() => tokenizer.decode([id])).toThrow(refused);
        expect(() => tokenizer.tokenBytes(id)).toThrow(refused);
        expect(() => tokenizer.tokenText(id)).toThrow(refused);
        expect(() => tokenizer.isControl(id)).toThrow(refused);
      }
    });
  });
}
