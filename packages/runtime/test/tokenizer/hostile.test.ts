import { tokenizerFromGguf, tokenizerFromJson } from '../../src/tokenizer/index.js';

// Files that would take the process, its memory or its time.

const model = { type: 'WordLevel', vocab: { a: 0, '<unk>': 1 }, unk_token: '<unk>' };
const regex = (Regex: string) => ({ Regex });
const slow = `${'a'.repeat(40)}!`;
const split = (Regex: string) => ({ type: 'Split', pattern: regex(Regex), behavior: 'Isolated' });

test.each([
  ['(a+)+$', { pre_tokenizer: split('(a+)+$') }],
  ['(a|a)*b', { pre_tokenizer: { type: 'Sequence', pretokenizers: [split('(a|a)*b')] } }],
  ['((a*)*)*c', { normalizer: { type: 'Replace', pattern: regex('((a*)*)*c'), content: '' } }],
])('a pattern that never ends is stopped: %s', (pattern, parts) => {
  const tokenizer = tokenizerFromJson({ model, ...parts });
  expect(() => tokenizer.encode(slow)).toThrow(
    expect.objectContaining({
      name: 'TokenizerError',
      code: 'SLOW_PATTERN',
      message: expect.stringContaining(pattern),
    }),
  );
  expect(tokenizer.encode('!')).toEqual([1]); // the next text is none the worse
});

test('a pattern that never ends is stopped while text is decoded', () => {
  const decoder = { type: 'Replace', pattern: regex('(a+)+$'), content: '' };
  const tokenizer = tokenizerFromJson({ model: { ...model, vocab: { [slow]: 0, '<unk>': 1 } }, decoder });
  expect(() => tokenizer.decode([0])).toThrow(expect.objectContaining({ code: 'SLOW_PATTERN' }));
});

test('steps that double a text', () => {
  const doubling = { type: 'Replace', pattern: { String: 'a' }, content: 'aa' };
  const normalizers = Array.from({ length: 60 }, () => doubling);
  const tokenizer = tokenizerFromJson({ model, normalizer: { type: 'Sequence', normalizers } });
  expect(() => tokenizer.encode('a')).toThrow(
    expect.objectContaining({ code: 'BAD_VOCABULARY', message: expect.stringContaining('normalizer') }),
  );
});

/** A table of replacements whose only node leads to itself, whatever the byte. */
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

test('a table of replacements that makes a book of every character', () => {
  const fields = {
    model: 't5',
    tokens: ['<unk>', 'a'],
    scores: [0, 0],
    unknown_token_id: 0,
    precompiled_charsmap: loopingCharsmap(new Uint8Array(1 << 20).fill(97)),
  };
  const entries = Object.entries(fields).map(([key, value]) => [`tokenizer.ggml.${key}`, value] as const);
  const tokenizer = tokenizerFromGguf(new Map<string, unknown>(entries));
  expect(() => tokenizer.encode('aaaa')).toThrow(
    expect.objectContaining({ code: 'BAD_VOCABULARY', message: expect.stringContaining('replacement') }),
  );
});

test('added tokens far apart take no memory', () => {
  const before = process.memoryUsage().rss;
  for (const id of [1e8, 4e8, 2 ** 32, 2 ** 53 - 1])
    expect(() => tokenizerFromJson({ model, added_tokens: [{ id, content: '<x>', special: true }] })).toThrow(
      expect.objectContaining({ code: 'BAD_VOCABULARY', message: expect.stringContaining(String(id)) }),
    );
  expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
});
