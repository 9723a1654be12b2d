import { tokenizerFromGguf } from '../../src/tokenizer/index.js';
import { characters, fallingBack } from './json-files.js';
import { complete, oracle, withOracle } from './oracle.js';
import { prose, random } from './texts.js';

// Character BPE with a merge list, as in GGUF files.

const load = (fields: Record<string, unknown>) =>
  tokenizerFromGguf(
    new Map(Object.entries(fields).map(([key, value]) => [`tokenizer.ggml.${key}`, value] as const)),
  );

const bytes = Array.from({ length: 256 }, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`);
const tokens = ['<unk>', '<bos>', 'a', 'b', '▁', 'ab', '▁a', '\n', '\n\n\n', 'a▁', ...bytes];
const id = (spelling: string) => tokens.indexOf(spelling);
const types = tokens.map((spelling) => (spelling === '<unk>' ? 2 : spelling === '<bos>' ? 3 : 1)); // byte tokens have type normal
const gemma = {
  model: 'gemma4',
  tokens,
  token_type: types,
  bos_token_id: 1,
  merges: ['a b', '▁ a', 'x y'],
};
const sarvam = { ...gemma, model: 'gpt2', pre: 'sarvam-moe' };

test('characters merge in list order; a space is ▁', () => {
  expect(load(sarvam).encode('a ab')).toEqual([id('a'), id('▁'), id('ab')]); // merge "a b" precedes "▁ a"
  expect(load({ ...sarvam, merges: ['▁ a', 'a b'] }).encode('a ab')).toEqual([id('a'), id('▁a'), id('b')]);
});

test('a merge may cross a word boundary', () => {
  expect(load({ ...sarvam, merges: ['a ▁'] }).encode('a b')).toEqual([id('a▁'), id('b')]);
});

test('an unknown character becomes byte tokens, also of type normal, and decodes back', () => {
  const tokenizer = load(sarvam);
  expect(tokenizer.encode('é')).toEqual([id('<0xC3>'), id('<0xA9>')]);
  expect(tokenizer.encode('xy')).toEqual([id('<0x78>'), id('<0x79>')]); // the merged pair is not a token
  expect(tokenizer.encode('<0x0A>')).not.toContain(id('<0x0A>'));
  for (const text of ['a é ab🦙\n\n\n', ' a  b ', '<0x0A>'])
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
  expect(tokenizer.longestToken).toBe(6);
});

test('Gemma only: consecutive line breaks become one token if it exists', () => {
  expect(load(gemma).encode('\n\n\n', { addBos: false })).toEqual([id('\n\n\n')]);
  expect(load(gemma).encode('a\n\n', { addBos: false })).toEqual([id('a'), id('\n'), id('\n')]);
  expect(load(sarvam).encode('\n\n\n')).toEqual([id('\n'), id('\n'), id('\n')]);
});

test('Gemma: a prompt starts with <bos>, whatever the file says', () => {
  for (const pre of ['gemma4', 'granite-embed-multi-311m'])
    expect(load({ ...gemma, model: 'gpt2', pre, add_bos_token: false }).addBos).toBe(true);
  expect(load({ ...gemma, pre: 'qwen2', add_bos_token: false }).encode('a')).toEqual([id('<bos>'), id('a')]);
  expect(load({ ...sarvam, add_bos_token: false }).addBos).toBe(false);
});

test('Gemma: end-of-turn tokens, also before a tool’s answer; a normal </s> is text', () => {
  const marks = ['<turn|>', '<|tool_response>', '</s>'];
  const file = { ...gemma, tokens: [...tokens, ...marks], token_type: [...types, 3, 4, 1] };
  expect([...load(file).eog]).toEqual([tokens.length, tokens.length + 1]);
});

describe('whitespace', () => {
  const file = {
    model: 'whitespace',
    tokens: ['<unk>', 'a', 'A', '你', '好', '你好', ' '],
    token_type: [2, 1, 1, 1, 1, 1, 1],
    unknown_token_id: 0,
    merges: ['你 好'],
  };

  test('words end at spaces; spaces are not tokens', () => {
    const tokenizer = load(file);
    expect(tokenizer.encode('  A a\u3000你好 你\n好')).toEqual([2, 1, 5, 3, 4]);
    expect(tokenizer.longestToken).toBeUndefined(); // a text of spaces has no tokens, at any length
    expect(load({ ...file, model: 'gpt2', pre: 'whitespace' }).encode('你好 a')).toEqual([5, 1]);
  });

  test('lower case if the file says so', () => {
    expect(load({ ...file, 'normalizer.lowercase': true }).encode('A')).toEqual([1]);
  });

  test('an unknown character is the unknown token; refused without such a token', () => {
    expect(load(file).encode('aé')).toEqual([1, 0]);
    expect(() => load({ ...file, unknown_token_id: undefined }).encode('aé')).toThrow(
      expect.objectContaining({
        code: 'BAD_VOCABULARY',
        message: expect.stringContaining('no token for "é"'),
      }),
    );
  });
});

/** The model of a tokenizer.json as GGUF fields. */
function fieldsOf({ vocab, merges }: { vocab: Record<string, number>; merges: readonly string[][] }) {
  const spellings: string[] = [];
  for (const [spelling, at] of Object.entries(vocab)) spellings[at] = spelling;
  const typeOf = (spelling: string) => (/^<0x..>$/.test(spelling) ? 6 : 1);
  return {
    tokens: spellings,
    token_type: spellings.map((spelling) => (spelling === '<unk>' ? 2 : typeOf(spelling))),
    merges: merges.map((merge) => merge.join(' ')),
    unknown_token_id: vocab['<unk>'],
  };
}

const marks = { type: 'Replace', pattern: { String: ' ' }, content: '▁' };
const lines = { type: 'Split', pattern: { Regex: '[^\\n]+|\\n+' }, behavior: 'Isolated', invert: false };
const unmarked = { type: 'Replace', pattern: { String: '▁' }, content: ' ' };
const decoder = { type: 'Sequence', decoders: [unmarked, { type: 'ByteFallback' }, { type: 'Fuse' }] };

describe('equal to Hugging Face’s tokenizers', () => {
  withOracle.each(['gemma4', 'sarvam-moe'])('%s', async (pre) => {
    const ours = load({ ...fieldsOf(fallingBack), model: 'gpt2', pre });
    const theirs = oracle!(
      complete({ normalizer: marks, pre_tokenizer: lines, decoder, model: fallingBack }),
    );
    for (const text of [...prose, ...random]) {
      const ids = (await theirs.encode(text, null, { addSpecialTokens: false })).getIds();
      expect({ text, ids: ours.encode(text) }).toEqual({ text, ids });
      expect(ours.decode(ids)).toBe(await theirs.decode(ids, true));
    }
  });

  withOracle.each([true, false])('whitespace, lower case: %s', async (lowercases) => {
    const ours = load({
      ...fieldsOf(characters),
      model: 'whitespace',
      'normalizer.lowercase': lowercases,
    });
    const theirs = oracle!(
      complete({
        normalizer: lowercases ? { type: 'Lowercase' } : null,
        pre_tokenizer: { type: 'WhitespaceSplit' },
        model: characters,
      }),
    );
    for (const text of [...prose, ...random]) {
      const ids = (await theirs.encode(text, null, { addSpecialTokens: false })).getIds();
      expect({ text, ids: ours.encode(text) }).toEqual({ text, ids });
    }
  });
});
