import { byteCharacters } from '../../src/tokenizer/byte-level.js';
import { type Tokenizer, tokenizerFromGguf, tokenizerFromJson } from '../../src/tokenizer/index.js';

const gguf = (fields: Record<string, unknown>): Tokenizer =>
  tokenizerFromGguf(
    new Map(Object.entries(fields).map(([key, value]) => [`tokenizer.ggml.${key}`, value] as const)),
  );

const bytes = Array.from({ length: 256 }, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`);
const pieces = ['<unk>', '<s>', '</s>', '▁', 'a', 'b', 'ab', '▁a', 'n', '[MASK]'];
const types = [2, 3, 3, 1, 1, 1, 1, 1, 1, 3];
const merges = ['a b', 'Ġ a', 'Ġ b'];
const byteLevel = [...byteCharacters, ...merges.map((merge) => merge.replace(' ', '')), '[MASK]'];
const template = {
  model: { type: 'BPE', vocab: Object.fromEntries(byteLevel.map((token, id) => [token, id])), merges },
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false },
  decoder: { type: 'ByteLevel' },
};

const tokenizers: [string, Tokenizer][] = [
  [
    'gpt2',
    gguf({
      model: 'gpt2',
      pre: 'gpt-2',
      merges,
      tokens: byteLevel,
      token_type: byteLevel.map((_, id) => (id === byteLevel.length - 1 ? 3 : 1)),
    }),
  ],
  [
    'llama',
    gguf({ model: 'llama', tokens: [...pieces, ...bytes], token_type: [...types, ...bytes.map(() => 6)] }),
  ],
  ['t5', gguf({ model: 't5', tokens: pieces, token_type: types, unknown_token_id: 0 })],
  [
    'bert',
    gguf({
      model: 'bert',
      tokens: pieces,
      token_type: types,
      unknown_token_id: 0,
      cls_token_id: 1,
      seperator_token_id: 2,
    }),
  ],
  ['tokenizer.json', tokenizerFromJson(template)],
];

const texts = [
  '',
  'ab a n[MASK]ba',
  'ab nab  a\n'.repeat(2000),
  'ab'.repeat(5000),
  `${' '.repeat(3000)}a[MASK]${'bé 漢🦙'.repeat(1500)}`,
];

describe.each(tokenizers)('%s, in turns', (_, tokenizer) => {
  test('the same ids', async () => {
    for (const text of texts)
      for (const special of ['parse', 'text'] as const)
        expect(await tokenizer.encodeInTurns(text, { special })).toEqual(tokenizer.encode(text, { special }));
  });

  test('other work runs in between', async () => {
    let turns = 0;
    let over = false;
    const turn = () => {
      turns++;
      if (!over) setImmediate(turn);
    };
    setImmediate(turn);
    await tokenizer.encodeInTurns('ab nab  a\n'.repeat(60_000));
    over = true;
    expect(turns).toBeGreaterThan(2);
  });

  test('stops at a limit', async () => {
    const all = tokenizer.encode(texts[2]!);
    const some = await tokenizer.encodeInTurns(texts[2]!, { limit: 50 });
    expect(some.length).toBeGreaterThan(50);
    expect(some).toEqual(all.slice(0, some.length));
    if (tokenizer !== tokenizers[2]![1]) expect(some.length).toBeLessThan(all.length); // Unigram reads the whole text
    expect(await tokenizer.encodeInTurns('ab', { limit: 50 })).toEqual(tokenizer.encode('ab'));
  });

  test('no token decodes to more bytes than longestToken', () => {
    const { longestToken } = tokenizer;
    if (longestToken === undefined) return expect(['t5', 'bert']).toContain(_);
    for (const text of texts)
      expect(tokenizer.encode(text).length * longestToken).toBeGreaterThanOrEqual(Buffer.byteLength(text));
  });
});
