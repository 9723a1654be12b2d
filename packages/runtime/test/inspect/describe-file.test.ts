import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeSyntheticSpeechModel } from '@quern/models';
import { type GgufFormat, type MetadataInput, openGguf, writeGguf } from '@quern/quant';
import { describeFile, modelKind } from '../../src/index.js';
import { encoderKinds, writeEncoderFolder } from '../quantize/encoder-folder.mjs';
import { writeGgml } from '../quantize/ggml-file.js';
import { sharedData, testShared } from '../shared-data.js';
import { writeTinyModel } from '../tiny-model.js';

const root = mkdtempSync(join(tmpdir(), 'quern-describe-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const newFolder = (name: string) => {
  mkdirSync(join(root, name));
  return join(root, name);
};

test('a GGUF file, and a folder with only this file', async () => {
  const path = await writeTinyModel();
  const file = await describeFile(path);
  expect(file).toMatchObject({ path, kind: 'gguf', metadata: { 'general.architecture': 'llama' } });
  expect(await describeFile(dirname(path))).toEqual(file);
});

test('needs of a model that Quern runs; none for other files', async () => {
  const path = await writeTinyModel();
  const { model, byteLength, tensors } = await describeFile(path);
  const elements = tensors.reduce((sum, { shape }) => sum + shape.reduce((n, d) => n * d, 1), 0);
  expect(model).toMatchObject({ architecture: 'llama', parameters: elements, activeParameters: elements });
  expect(model!.bytesPerToken).toBeLessThanOrEqual(byteLength);
  const unknown = join(dirname(path), 'unknown.gguf');
  await writeGguf(unknown, { metadata: { 'general.architecture': 'unheard-of' }, tensors: [] });
  expect(await describeFile(unknown)).not.toHaveProperty('model');
});

test('tensors that the model does not read, and why a file cannot be run', async () => {
  const { metadata, tensors } = await openGguf(await writeTinyModel());
  const [more, broken] = [join(root, 'more.gguf'), join(root, 'broken.gguf')];
  const data = new Uint8Array(16);
  const stored = tensors.map(({ name, shape, format, path, offset, byteLength }) => ({
    ...{ name, shape, format: format as GgufFormat },
    data: readFileSync(path).subarray(offset, offset + byteLength),
  }));
  const withTensor = (name: string) => [...stored, { name, shape: [4], format: 'f32' as const, data }];
  const entries = new Map(metadata) as Map<string, MetadataInput>;
  await writeGguf(more, { metadata: entries, tensors: withTensor('mtp.norm.weight') });
  expect(await describeFile(more)).toMatchObject({ model: { unread: ['mtp.norm.weight'] } });
  await writeGguf(broken, { metadata: entries, tensors: withTensor('blk.99.mtp.weight') });
  const described = await describeFile(broken);
  expect(described).not.toHaveProperty('model');
  expect(described.modelError).toEqual({
    code: 'BAD_CONFIG',
    message: expect.stringMatching(/block_count is \d+; expected at least 100/),
  });
});

test('a whisper.cpp file, and the same model as GGUF', async () => {
  const [gguf, ggml] = [join(root, 'whisper.gguf'), join(root, 'ggml-whisper.bin')];
  await makeSyntheticSpeechModel(gguf, { shape: 'whisper-test', format: 'f32' });
  await writeGgml(ggml, gguf);
  const [a, b] = [await describeFile(gguf), await describeFile(ggml)];
  expect(b).toMatchObject({ path: ggml, kind: 'ggml', byteLength: a.byteLength, tensors: a.tensors });
  expect(b.metadata).toMatchObject({ n_vocab: 51_865, n_audio_state: 32, n_text_layer: 2 });
  const tokens = b.metadata.tokens as readonly string[];
  expect([tokens.length, tokens[65], tokens[255]]).toEqual([50_257, 'A', '\ufffd']);
  const elements = a.tensors.reduce((sum, { shape }) => sum + shape.reduce((n, d) => n * d, 1), 0);
  expect(a.model).toEqual({
    kind: 'speech',
    architecture: 'whisper',
    parameters: elements,
    bytesPerToken: expect.any(Number),
    unread: [],
  });
  expect(b.model).toEqual(a.model);
  const { bytesPerToken } = a.model!;
  const decoder = a.tensors.filter(({ name }) => name.startsWith('decoder.'));
  const unread = decoder.filter(({ name }) => /cross_attn\.(key|value)|positional/.test(name));
  const sum = (some: typeof decoder) => some.reduce((total, { byteLength }) => total + byteLength, 0);
  expect(bytesPerToken).toBe(sum(decoder) - sum(unread));
});

test.each(Object.keys(encoderKinds))('an encoder folder: %s', async (kind) => {
  const folder = newFolder(`encoder-${kind}`);
  writeEncoderFolder(folder, kind);
  const { tensors, model } = await describeFile(folder);
  const elements = tensors.reduce((sum, { shape }) => sum + shape.reduce((n, d) => n * d, 1), 0);
  expect(model).toEqual({
    kind: 'encoder',
    architecture: expect.any(String),
    parameters: elements,
    unread: [],
  });
  expect(await modelKind(folder)).toBe('encoder');
});

testShared.each([
  ['tiny_whisper', 'speech', 'whisper'],
  ['tiny_llama', 'language', 'llama'],
  ['tiny_qwen2', 'language', 'qwen2'],
  ['tiny_qwen3', 'language', 'qwen3'],
  ['tiny_qwen3_moe', 'language', 'qwen3moe'],
])('a folder of %s', async (name, kind, architecture) => {
  const folder = newFolder(name);
  for (const [end, file] of Object.entries({
    '.safetensors': 'model.safetensors',
    '_config.json': 'config.json',
  }))
    copyFileSync(join(sharedData, 'tiny-hf', `${name}${end}`), join(folder, file));
  const described = await describeFile(folder);
  expect(described).toMatchObject({ kind: 'safetensors', model: { kind, architecture } });
  expect(await modelKind(folder)).toBe(kind);
});

testShared('a whisper.cpp file without tensors: kind speech, no model', async () => {
  const path = join(sharedData, 'whisper', 'for-tests-ggml-tiny.en.bin');
  const file = await describeFile(path);
  expect(file).toMatchObject({ kind: 'ggml', tensors: [], metadata: { n_vocab: 51_864 } });
  expect(file).not.toHaveProperty('model');
  expect(await modelKind(path)).toBe('speech');
});

test('a broken whisper.cpp file, and a file without a model', async () => {
  const [broken, other] = [join(root, 'broken.bin'), join(root, 'other.bin')];
  writeFileSync(broken, 'lmgg and no more');
  writeFileSync(other, 'something else');
  await expect(describeFile(broken)).rejects.toMatchObject({ name: 'FileError', code: 'TRUNCATED' });
  await expect(describeFile(other)).rejects.toMatchObject({ name: 'FileError', code: 'NOT_GGUF' });
  const unknown = join(root, 'unknown.gguf');
  await writeGguf(unknown, { metadata: { 'general.architecture': 'unheard-of' }, tensors: [] });
  await expect(modelKind(unknown)).rejects.toMatchObject({
    name: 'ModelError',
    code: 'UNKNOWN_ARCHITECTURE',
  });
  expect((await describeFile(unknown)).modelError).toEqual({
    code: 'UNKNOWN_ARCHITECTURE',
    message: expect.stringContaining("the architecture 'unheard-of' is not known"),
  });
});

test('a GGUF file beside a shard without config.json: loading takes the GGUF file', async () => {
  const path = await writeTinyModel();
  writeFileSync(join(dirname(path), 'adapter.safetensors'), '');
  expect(await describeFile(dirname(path))).toMatchObject({ path });
});

test('a folder with no model, or with several', async () => {
  const path = await writeTinyModel();
  copyFileSync(path, join(dirname(path), 'other.gguf'));
  await expect(describeFile(dirname(path))).rejects.toMatchObject({ code: 'AMBIGUOUS_MODEL' });
  const empty = mkdtempSync(join(tmpdir(), 'quern-empty-'));
  await expect(describeFile(empty)).rejects.toMatchObject({ code: 'NO_MODEL' });
});

const mayReadAll = process.platform === 'win32' || process.getuid?.() === 0;

(mayReadAll ? test.skip : test)('a file without read permission', async () => {
  const path = await writeTinyModel();
  chmodSync(path, 0);
  await expect(describeFile(path)).rejects.toMatchObject({
    code: 'MODEL_NOT_FOUND',
    message: expect.stringContaining('EACCES'),
  });
});
