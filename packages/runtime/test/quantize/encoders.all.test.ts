// Encoders converted to GGUF: the vectors and rankings of the source folders.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend } from '@quern/backend-reference';
import { openGguf } from '@quern/quant';
import { loadEmbedder, quantizeModel } from '../../src/index.js';
import { sharedData, testShared } from '../shared-data.js';
import { encoderKinds, writeEncoderFolder } from './encoder-folder.mjs';

const root = mkdtempSync(join(tmpdir(), 'quern-encoders-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function writeFolder(kind: string): string {
  const folder = join(root, kind);
  mkdirSync(folder, { recursive: true });
  writeEncoderFolder(folder, kind);
  return folder;
}

const texts = [
  'The cat sat on a mat.',
  'playing, walked & played!',
  'naïve  狐 42',
  '',
  'ÀÉ z9 '.repeat(40),
  'x'.repeat(101),
];

async function vectors(path: string): Promise<Float32Array> {
  using backend = await createBackend();
  using model = await loadEmbedder(path, { backend });
  return (await model.embed(texts, { truncate: true })).values;
}

const distance = (a: Float32Array, b: Float32Array) =>
  a.length === b.length ? Math.max(...a.map((value, i) => Math.abs(value - b[i]!))) : Infinity;

const embedding = Object.keys(encoderKinds).filter((kind) => kind !== 'cross-encoder');

test.each(embedding)('%s: the file’s vectors equal the folder’s', async (kind) => {
  const [folder, path] = [writeFolder(kind), join(root, `${kind}.gguf`)];
  const notices: string[] = [];
  await quantizeModel(folder, path, { mix: 'f32', onNotice: (text) => notices.push(text) });
  // the vocabulary made here has no table of characters, so llama.cpp keeps line breaks
  const isOfTokens = (text: string) =>
    kind === 'xlm-roberta' && text.includes('llama.cpp gives other tokens');
  expect(notices.filter((text) => !isOfTokens(text))).toEqual([]);
  expect(distance(await vectors(path), await vectors(folder))).toBeLessThan(1e-6);
});

test('XLM-R: llama.cpp’s metadata; positions start at 0', async () => {
  const path = join(root, 'metadata.gguf');
  await quantizeModel(writeFolder('xlm-roberta'), path, { mix: 'f16' });
  const { metadata, tensors } = await openGguf(path);
  expect(Object.fromEntries(metadata)).toMatchObject({
    'general.architecture': 'bert',
    'bert.context_length': 60,
    'bert.pooling_type': 1,
    'bert.attention.causal': false,
    'tokenizer.ggml.model': 't5',
    'tokenizer.ggml.token_type_count': 1,
    'tokenizer.ggml.bos_token_id': 0,
    'tokenizer.ggml.eos_token_id': 2,
    'tokenizer.ggml.unknown_token_id': 3,
    'tokenizer.ggml.add_bos_token': true,
    'tokenizer.ggml.add_eos_token': true,
    'tokenizer.ggml.remove_extra_whitespaces': true,
  });
  expect(tensors.find(({ name }) => name === 'position_embd.weight')).toMatchObject({
    shape: [60, 64],
    format: 'f32',
  });
});

test('a cross-encoder ranks like its folder', async () => {
  const [folder, path] = [writeFolder('cross-encoder'), join(root, 'ranks.gguf')];
  await quantizeModel(folder, path, { mix: 'f32' });
  expect((await openGguf(path)).metadata.get('bert.pooling_type')).toBe(4);
  using backend = await createBackend();
  using before = await loadEmbedder(folder, { backend });
  using after = await loadEmbedder(path, { backend });
  const rank = (model: typeof before) => model.rerank('the cat', texts, { truncate: true });
  const [want, got] = [await rank(before), await rank(after)];
  expect(got.ranked.map(({ index }) => index)).toEqual(want.ranked.map(({ index }) => index));
  for (const [i, { logit }] of got.ranked.entries()) expect(logit).toBeCloseTo(want.ranked[i]!.logit, 5);
});

/** A folder with a changed JSON file `name`. */
function changed(name: string, change: (json: Record<string, object>) => object): string {
  const folder = writeFolder('bert');
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')))));
  return folder;
}

test('settings that GGUF lacks: refused, or a notice', async () => {
  const path = join(root, 'refused.gguf');
  const cased = changed('tokenizer.json', (json) => ({
    ...json,
    normalizer: { ...json.normalizer, lowercase: false },
  }));
  await expect(quantizeModel(cased, path, { mix: 'f16' })).rejects.toMatchObject({
    code: 'UNKNOWN_TOKENIZER',
  });
  const tanh = changed('config.json', (json) => ({ ...json, hidden_act: 'gelu_new' }));
  await expect(quantizeModel(tanh, path, { mix: 'f16' })).rejects.toMatchObject({
    code: 'UNSUPPORTED_CONFIG',
  });
  const long = changed('modules.json', () => [{ type: 'sentence_transformers.models.Pooling' }]);
  const notices: string[] = [];
  await quantizeModel(long, path, { mix: 'f16', onNotice: (text) => notices.push(text) });
  expect(notices.join()).toMatch(/are not normalised/);
});

testShared('a tokenizer that keeps case is refused; the error names it', async () => {
  const folder = join(sharedData, 'tiny-bert-hf-dir', 'tiny_bert');
  await expect(quantizeModel(folder, join(root, 'cased.gguf'), { mix: 'f32' })).rejects.toThrow(/keeps case/);
});
