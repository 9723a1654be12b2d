import { TokenStream, tokenizerFromGguf, tokenizerFromJson } from '../../src/tokenizer/index.js';

// Files that would otherwise hang the process, or exhaust its memory.

const model = { type: 'WordLevel', vocab: { a: 0, '<unk>': 1 }, unk_token: '<unk>' };
const regex = (Regex: string) => ({ Regex });
const slow = `${'a'.repeat(40)}!`;
const split = (Regex: string) => ({ type: 'Split', pattern: regex(Regex), behavior: 'Isolated' });

test.each([
  ['(a+)+$', { pre_tokenizer: split('(a+)+$') }],
  ['(a|a)*b', { pre_tokenizer: { type: 'Sequence', pretokenizers: [split('(a|a)*b')] } }],
  ['((a*)*)*c', { normalizer: { type: 'Replace', pattern: regex('((a*)*)*c'), content: '' } }],
])('an endless pattern match is stopped: %s', (pattern, parts) => {
  const tokenizer = tokenizerFromJson({ model, ...parts });
  expect(() => tokenizer.encode(slow)).toThrow(
    expect.objectContaining({
      name: 'TokenizerError',
      code: 'SLOW_PATTERN',
      message: expect.stringContaining(pattern),
    }),
  );
  expect(tokenizer.encode('!')).toEqual([1]); // the next text works
});

test('an endless pattern match is stopped during decoding', () => {
  const decoder = { type: 'Replace', pattern: regex('(a+)+$'), content: '' };
  const tokenizer = tokenizerFromJson({ model: { ...model, vocab: { [slow]: 0, '<unk>': 1 } }, decoder });
  expect(() => tokenizer.decode([0])).toThrow(expect.objectContaining({ code: 'SLOW_PATTERN' }));
});

test('normaliser steps that double a text', () => {
  const doubling = { type: 'Replace', pattern: { String: 'a' }, content: 'aa' };
  const normalizers = Array.from({ length: 60 }, () => doubling);
  const tokenizer = tokenizerFromJson({ model, normalizer: { type: 'Sequence', normalizers } });
  expect(() => tokenizer.encode('a')).toThrow(
    expect.objectContaining({ code: 'BAD_VOCABULARY', message: expect.stringContaining('normalizer') }),
  );
});

/** A replacement table whose only node leads to itself, for every byte. */
function loopingCharsmap(replacement: Uint8Array): Uint8Array {
  const units = new Uint32Array(256);
  for (let byte = 1; byte < 256; byte++) units[byte] = byte | (byte << 10) | (1 << 8);
  const table = new Uint8Array(units.buffer);
  const blob = new Uint8Array(4 + table.length + replacement.length);
  new DataView(blob.buffer).setUint32(0, table.length, true);
  blob.set(table, 4);
  blob.set(replacement, 4 + table.length);
  return blob;
}

/** A tokenizer with this table; every match becomes `replacement`. */
function loopingTokenizer(replacement: Uint8Array) {
  const fields = {
    model: 't5',
    tokens: ['<unk>', 'a', 'b'],
    scores: [0, 0, 0],
    unknown_token_id: 0,
    add_space_prefix: false,
    add_eos_token: false,
    precompiled_charsmap: loopingCharsmap(replacement),
  };
  const entries = Object.entries(fields).map(([key, value]) => [`tokenizer.ggml.${key}`, value] as const);
  return tokenizerFromGguf(new Map<string, unknown>(entries));
}

test('a replacement table that expands every character enormously', () => {
  const tokenizer = loopingTokenizer(new Uint8Array(1 << 20).fill(97));
  expect(() => tokenizer.encode('aaaa')).toThrow(
    expect.objectContaining({ code: 'BAD_VOCABULARY', message: expect.stringContaining('replacement') }),
  );
});

test('a replacement table with endless matches', () => {
  const tokenizer = loopingTokenizer(new TextEncoder().encode('b\0'));
  expect(tokenizer.encode('a'.repeat(256))).toEqual([2]);
  expect(tokenizer.encode('a'.repeat(600))).toEqual([2, 2, 2]); // matches are at most 256 bytes
});

test('added tokens with distant ids take no memory', () => {
  const before = process.memoryUsage().rss;
  for (const id of [1e8, 4e8, 2 ** 32, 2 ** 53 - 1])
    expect(() => tokenizerFromJson({ model, added_tokens: [{ id, content: '<x>', special: true }] })).toThrow(
      expect.objectContaining({ code: 'BAD_VOCABULARY', message: expect.stringContaining(String(id)) }),
    );
  expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
});

describe('numbers of a file', () => {
  const pieces = { type: 'WordPiece', vocab: { a: 0, '<unk>': 1 }, unk_token: '<unk>' };
  const unigram = {
    type: 'Unigram',
    vocab: [
      ['a', 0],
      ['<unk>', 0],
    ],
  };
  const strip = { type: 'Strip', content: ' ', start: 0, stop: 0 };
  const places: readonly (readonly [string, (value: unknown) => Record<string, unknown>])[] = [
    ['max_input_chars_per_word', (value) => ({ model: { ...pieces, max_input_chars_per_word: value } })],
    ['unk_id', (value) => ({ model: { ...unigram, unk_id: value } })],
    ['length', (value) => ({ model, pre_tokenizer: { type: 'FixedLength', length: value } })],
    ['start', (value) => ({ model, decoder: { ...strip, start: value } })],
    ['stop', (value) => ({ model, decoder: { ...strip, stop: value } })],
    ['the id', (value) => ({ model, added_tokens: [{ id: value, content: '<x>' }] })],
    ['the id', (value) => ({ model: { ...model, vocab: { a: value } } })],
  ];

  test.each(places)('%s must be a whole number', (name, fileOf) => {
    for (const value of [-1, 0.5, 1e308, Number.NaN, '1', true, [], {}])
      expect(() => tokenizerFromJson(fileOf(value))).toThrow(
        expect.objectContaining({ code: 'BAD_VOCABULARY', message: expect.stringContaining(name) }),
      );
  });

  test('huge numbers take no time', () => {
    const most = Number.MAX_SAFE_INTEGER;
    const ends = { ...strip, content: 'a', start: most, stop: most };
    const tokenizer = tokenizerFromJson({
      model,
      pre_tokenizer: { type: 'FixedLength', length: most },
      decoder: { type: 'Sequence', decoders: [{ type: 'Fuse' }, ends] },
    });
    const stream = new TokenStream(tokenizer);
    expect(tokenizer.encode('aaaa')).toEqual([1]);
    expect(tokenizer.decode([0, 0])).toBe('');
    expect(stream.push(0) + stream.push(0) + stream.flush()).toBe('');
    const long = tokenizerFromJson({ model: { ...pieces, max_input_chars_per_word: most } });
    expect(long.encode('a'.repeat(100_000)).length).toBe(1); // no token continues within a word
  });

  test('stripping an empty string many times: refused', () => {
    const ends = { ...strip, content: '', start: Number.MAX_SAFE_INTEGER };
    expect(() => tokenizerFromJson({ model, decoder: ends })).toThrow(
      expect.objectContaining({
        code: 'BAD_VOCABULARY',
        message: expect.stringContaining('content is empty'),
      }),
    );
  });
});
