import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGguf, writeGguf } from '@quern/quant';
import { tokenizerFromGguf, tokenizerFromHuggingFace } from '../../src/index.js';
import { vocabularyToGguf } from '../../src/tokenizer/to-gguf.js';
import { addedTokenFiles, characters, fallingBack, files, type JsonFile } from './json-files.js';
import { shared, testWithShared } from './shared-data.js';
import { prose, random } from './texts.js';

// A folder's tokenizer, and the tokenizer of its GGUF file: the same ids, text and ends.

const folder = mkdtempSync(join(tmpdir(), 'quern-stored-json-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, value: object) => writeFileSync(join(folder, name), JSON.stringify(value));

/** Through a file: as written, so read. `undefined`: GGUF has no form for this kind of tokenizer. */
async function both(edit: Record<string, boolean | number> = {}) {
  const before = await tokenizerFromHuggingFace(folder);
  const notices: string[] = [];
  const onNotice = (text: string) => notices.push(text);
  const options = { size: before.vocabSize + 3, pre: 'default', onNotice };
  const entries = await vocabularyToGguf(folder, options).catch((error: { code?: string }) => {
    if (error.code !== 'UNKNOWN_TOKENIZER') throw error;
    return undefined;
  });
  if (!entries) return undefined;
  const path = join(folder, 'tokens.gguf');
  await writeGguf(path, { metadata: new Map([...entries, ...Object.entries(edit)]), tensors: [] });
  const { metadata } = await openGguf(path);
  return { before, after: tokenizerFromGguf(metadata), metadata, notices };
}

async function compare(texts: readonly string[]): Promise<boolean> {
  const pair = await both();
  if (!pair) return false;
  const { before, after } = pair;
  for (const special of ['parse', 'text'] as const)
    for (const text of texts) {
      const ids = before.encode(text, { special });
      expect({ text, ids: after.encode(text, { special }) }).toEqual({ text, ids });
      expect(after.decode(ids)).toBe(before.decode(ids));
    }
  expect(after.eog).toEqual(before.eog);
  for (const key of ['bos', 'eos', 'addBos', 'addEos', 'addSpacePrefix', 'longestToken'] as const)
    expect([key, after[key]]).toEqual([key, before[key]]);
  expect(after.vocabSize).toBe(before.vocabSize + 3);
  return true;
}

const settings = { unk_token: '<unk>', add_bos_token: false };

async function compareFile(file: JsonFile, texts: readonly string[]): Promise<boolean> {
  write('tokenizer.json', file);
  write('tokenizer_config.json', settings);
  return compare(texts);
}

/** Kinds of models that GGUF has a form for; the ways to split at a match once. */
const convertible = files.filter(
  ([name, { model }]) =>
    /BPE|Unigram/.test(String(Reflect.get(model, 'type'))) && !/Isolated|Merged|Contiguous/.test(name),
);

test.each(convertible)('%s', async (_, file) => {
  expect(await compareFile(file, [...prose, ...random.slice(0, 4)])).toBe(true);
});

test('added tokens with all flags', async () => {
  const texts = [0, 3, 5, 8, 12, 15].flatMap((n) => {
    const word = `Tok${String.fromCharCode(97 + n)}`;
    return [`a <T${n}>\n b`, `a<T${n}>b`, `${word} ${word}x`, `a  ${word.toUpperCase()}  b`];
  });
  for (const [, file] of addedTokenFiles) expect(await compareFile(file, texts)).toBe(true);
});

describe('third-party files', () => {
  for (const path of [
    'tokenizers/bert-uncased',
    'tokenizers/whisper',
    'tiny-hf/tiny_bpe_split_qwen2_',
    'tiny-hf/tiny_unigram_',
    'tiny-hf/tiny_wordpiece_',
  ])
    testWithShared(
      path,
      async () => {
        cpSync(
          shared(path.endsWith('_') ? `${path}tokenizer.json` : `${path}/tokenizer.json`),
          join(folder, 'tokenizer.json'),
        );
        write('tokenizer_config.json', {});
        expect(await compare([...prose, ...random.slice(0, 4)])).toBe(true);
      },
      120_000,
    );
});

const end = { id: characters.vocab.a as number, content: 'a', special: true, rstrip: true };

describe('what llama.cpp has no key for', () => {
  test('is said, with a text', async () => {
    write('tokenizer.json', { model: fallingBack, added_tokens: [{ ...end, id: 4000, content: '</s>' }] });
    write('tokenizer_config.json', settings);
    const { notices } = (await both())!;
    expect(notices).toEqual([expect.stringMatching(/llama\.cpp gives other tokens, for example for "/)]);
  });

  test('an entry that was changed later goes before the settings of the folder', async () => {
    write('tokenizer.json', { model: fallingBack });
    write('tokenizer_config.json', { ...settings, bos_token: 'b' });
    const changed = { 'tokenizer.ggml.add_bos_token': true, 'tokenizer.ggml.eos_token_id': 7 };
    const { after, before } = (await both(changed))!;
    expect([before.addBos, after.addBos]).toEqual([false, true]);
    expect([before.eos, after.eos, after.eog.has(7)]).toEqual([undefined, 7, true]);
  });

  test('a broken entry is refused', async () => {
    write('tokenizer.json', { model: fallingBack });
    write('tokenizer_config.json', settings);
    const { metadata } = (await both())!;
    for (const broken of ['{', '[]', '{"tokenizer": {}}', 7])
      expect(() => tokenizerFromGguf(new Map([...metadata, ['quern.tokenizer.json', broken]]))).toThrow(
        expect.objectContaining({
          code: 'BAD_VOCABULARY',
          message: expect.stringContaining('quern.tokenizer.json'),
        }),
      );
  });
});
