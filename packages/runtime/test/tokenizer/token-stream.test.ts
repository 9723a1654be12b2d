import fc from 'fast-check';
import { runs } from '../../../../test-scope.js';
import { TokenStream, tokenizerFromGguf } from '../../src/tokenizer/index.js';
import { testWithShared } from './shared-data.js';
import { ggufTokenizer, qwen2Tokenizer } from './vocabularies.js';

const hex = (byte: number) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
const bytes = Array.from({ length: 256 }, (_, byte) => hex(byte));
const words = ['▁the', '▁', 'cat', '🦙', 'é'];
const FIRST_BYTE = 3;
const FIRST_WORD = FIRST_BYTE + 256;
const word = (spelling: string) => FIRST_WORD + words.indexOf(spelling);

/** A SentencePiece vocabulary: 3 special tokens, all bytes, a few words. */
const tokenizer = tokenizerFromGguf(
  new Map<string, unknown>([
    ['tokenizer.ggml.model', 'llama'],
    ['tokenizer.ggml.tokens', ['<unk>', '<s>', '</s>', ...bytes, ...words]],
    ['tokenizer.ggml.token_type', [2, 3, 3, ...bytes.map(() => 6), ...words.map(() => 1)]],
  ]),
);

const pushAll = (ids: number[], options = {}) => {
  const stream = new TokenStream(tokenizer, options);
  return [...ids.map((id) => stream.push(id)), stream.flush()];
};
const bytesOf = (...values: number[]) => values.map((value) => FIRST_BYTE + value);

test('a character is emitted whole, at its last byte', () => {
  expect(pushAll(bytesOf(0xf0, 0x9f, 0xa6, 0x99))).toEqual(['', '', '', '🦙', '']);
  expect(pushAll([...bytesOf(0xc3), word('cat')])).toEqual(['', '\ufffdcat', '']);
  expect(pushAll(bytesOf(0xf0, 0x9f))).toEqual(['', '', '\ufffd']);
  expect(pushAll(bytesOf(0xff, 0x41))).toEqual(['\ufffd', 'A', '']);
});

test('a byte order mark is text', () => {
  expect(pushAll(bytesOf(0xef, 0xbb, 0xbf)).join('')).toBe('\ufeff');
});

test('only the space that encode added is dropped', () => {
  expect(pushAll([word('▁the'), word('▁the')]).join('')).toBe('the the');
  expect(pushAll([1, word('▁the')]).join('')).toBe('the');
  expect(pushAll([word('▁the')], { continues: true }).join('')).toBe(' the');
  expect(pushAll([word('cat'), word('▁the')]).join('')).toBe('cat the');
});

test('control tokens are hidden by default', () => {
  const ids = [1, word('▁the'), 2, 0];
  expect(pushAll(ids).join('')).toBe('the');
  expect(pushAll(ids, { special: true }).join('')).toBe('<s> the</s><unk>');
  expect(tokenizer.decode(ids)).toBe('the');
  expect(tokenizer.decode(ids, { special: true })).toBe('<s> the</s><unk>');
});

test('any bytes: equal to decoding at once', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), (values) => {
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(values);
      expect(pushAll(bytesOf(...values), { continues: true }).join('')).toBe(text);
    }),
    { numRuns: runs(1000) },
  );
});

testWithShared('no step splits a character; all steps join to the text: real vocabularies', async () => {
  const tokenizers = [
    await ggufTokenizer('llamacpp-vocab/ggml-vocab-llama-spm.gguf'),
    await ggufTokenizer('llamacpp-vocab/ggml-vocab-gpt-2.gguf'),
    qwen2Tokenizer(),
  ];
  const text = '👩‍👩‍👧 café ᚠ 我想 \u{1f1e6}\u{1f1f9} …';
  for (const each of tokenizers) {
    const stream = new TokenStream(each);
    const pieces = [...each.encode(text).map((id) => stream.push(id)), stream.flush()];
    for (const piece of pieces) expect(piece).not.toMatch(/\ufffd|\p{Surrogate}/u);
    expect(pieces.join('')).toBe(text);
  }
});
