import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenizerFromGguf, tokenizerFromHuggingFace } from '../../src/index.js';
import { byteCharacters } from '../../src/tokenizer/byte-level.js';
import { o200kSource } from '../../src/tokenizer/json/known-patterns.js';
import { vocabularyToGguf } from '../../src/tokenizer/to-gguf.js';
import { sharedData, testShared } from '../shared-data.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-to-gguf-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A folder's tokenizer, and the tokenizer of its GGUF file. */
async function both(size: number) {
  const entries = await vocabularyToGguf(folder, { size });
  const metadata = new Map(
    [...entries].map(([key, input]) => [
      key,
      typeof input === 'object' && 'type' in input && 'value' in input ? input.value : input,
    ]),
  );
  return { before: await tokenizerFromHuggingFace(folder), after: tokenizerFromGguf(metadata), metadata };
}

const texts = ['the cat sat', ' the  cat', 'cats, 42 cats!\n', 'naïve', '', 'a\tb', "it's THE end"];

/** A SentencePiece vocabulary as converted by Hugging Face: merges in score order, byte fallback. */
function sentencePiece() {
  const merges = ['t h', 'th e', '▁ the', 'c a', 'ca t', '▁ cat', '▁ s', 'a t', '▁s at', '▁c at', '▁ c'];
  const bytes = Array.from({ length: 256 }, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`);
  const letters = [...'▁abcdehinst,!'];
  const joined = [...new Set(merges.map((merge) => merge.replace(' ', '')))];
  const tokens = ['<unk>', '<s>', '</s>', ...bytes, ...letters, ...joined];
  return {
    added_tokens: ['<unk>', '<s>', '</s>'].map((content, id) => ({
      id,
      content,
      special: true,
      normalized: false,
    })),
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Prepend', prepend: '▁' },
        { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
      ],
    },
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
    model: {
      type: 'BPE',
      unk_token: '<unk>',
      fuse_unk: true,
      byte_fallback: true,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  };
}

const turn = (id: number, content: string) => ({ id, content, special: true, normalized: false });

const config = {
  bos_token: '<s>',
  eos_token: '</s>',
  unk_token: '<unk>',
  add_bos_token: true,
  add_eos_token: false,
};

test('SentencePiece BPE: scores from the order of the merges', async () => {
  const json = sentencePiece();
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
  const size = Object.keys(json.model.vocab).length;
  const { before, after, metadata } = await both(size + 5);
  expect(metadata.get('tokenizer.ggml.model')).toBe('llama');
  expect((metadata.get('tokenizer.ggml.tokens') as string[]).at(-1)).toBe(`[PAD${size + 4}]`);
  for (const text of texts.filter((text) => text !== ''))
    expect(after.encode(text)).toEqual(before.encode(text));
  expect([after.bos, after.eos, after.addBos]).toEqual([1, 2, true]);
  expect(after.decode(after.encode('the cat sat'))).toBe('the cat sat');
});

test('Gemma’s SentencePiece BPE: no space before a text', async () => {
  const { added_tokens, ...json } = sentencePiece();
  const free = Object.keys(json.model.vocab).length;
  const gemma = {
    ...json,
    added_tokens: [...added_tokens, turn(free, '<start_of_turn>'), turn(free + 1, '<end_of_turn>')],
    normalizer: { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    pre_tokenizer: {
      type: 'Split',
      pattern: { String: ' ' },
      behavior: 'MergedWithPrevious',
      invert: false,
    },
    decoder: { type: 'Sequence', decoders: json.decoder.decoders.slice(0, 3) },
  };
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(gemma));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify({ ...config, add_bos_token: true }));
  const { before, after, metadata } = await both(free + 2);
  expect(metadata.get('tokenizer.ggml.model')).toBe('llama');
  expect(metadata.get('tokenizer.ggml.add_space_prefix')).toBe(false);
  for (const text of texts) expect(after.encode(text)).toEqual(before.encode(text));
  expect(after.decode(after.encode('the cat sat'))).toBe('the cat sat');
  const chat = '<start_of_turn>user\nthe cat<end_of_turn>\n';
  const encoded = after.encode(chat, { special: 'parse' });
  expect(encoded).toEqual(before.encode(chat, { special: 'parse' }));
  expect(encoded).toEqual(expect.arrayContaining([free, free + 1]));
  expect(after.eog.has(free + 1)).toBe(true);
});

test('Phi-4-mini’s byte-level BPE splits by llama.cpp’s pattern gpt-4o', async () => {
  const letters = byteCharacters;
  const json = {
    added_tokens: [turn(256, '<|end|>'), turn(257, '<|endoftext|>')],
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: o200kSource }, behavior: 'Removed', invert: true },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel' },
    model: { type: 'BPE', vocab: Object.fromEntries(letters.map((letter, id) => [letter, id])), merges: [] },
  };
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify({ eos_token: '<|endoftext|>' }));
  const { before, after, metadata } = await both(258);
  expect(metadata.get('tokenizer.ggml.pre')).toBe('gpt-4o');
  for (const text of texts) expect(after.encode(text)).toEqual(before.encode(text));
  expect(after.eog).toEqual(new Set([256, 257]));
});

test('more tokens than embedding rows: refused', async () => {
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(sentencePiece()));
  await expect(vocabularyToGguf(folder, { size: 9 })).rejects.toMatchObject({ code: 'BAD_VOCABULARY' });
});

test('invalid JSON, or merges of one piece: refused', async () => {
  writeFileSync(join(folder, 'tokenizer.json'), '{"model": ');
  await expect(vocabularyToGguf(folder, { size: 9 })).rejects.toMatchObject({ code: 'BAD_VOCABULARY' });
  const json = sentencePiece();
  json.model.merges = ['the'];
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json));
  await expect(vocabularyToGguf(folder, { size: 999 })).rejects.toMatchObject({ code: 'BAD_VOCABULARY' });
});

for (const [file, model] of [
  ['tiny_bpe_split_qwen2_tokenizer.json', 'gpt2'],
  ['tiny_unigram_tokenizer.json', 't5'],
] as const)
  testShared(`${file} splits text as before`, async () => {
    cpSync(join(sharedData, 'tiny-hf', file), join(folder, 'tokenizer.json'));
    writeFileSync(join(folder, 'tokenizer_config.json'), '{}');
    const { before, after, metadata } = await both(400 + 2);
    expect(metadata.get('tokenizer.ggml.model')).toBe(model);
    if (model === 'gpt2') expect(metadata.get('tokenizer.ggml.pre')).toBe('qwen2');
    // For a text with a leading space, Hugging Face adds no second space; SentencePiece, and so GGUF, does.
    for (const text of texts.filter((text) => text !== '' && !text.startsWith(' ')))
      expect(after.encode(text, { addBos: false, addEos: false })).toEqual(
        before.encode(text, { addBos: false, addEos: false }),
      );
  });
