import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demoModelPath } from '@quern/demo-model';
import { openGguf, writeGguf } from '@quern/quant';
import { loadModel, openTokenizer, perplexity, quantizeModel } from '../../src/index.js';
import { countingBackend } from '../backends.js';
import { writeDemoFolder } from './demo-folder.mjs';

const folder = mkdtempSync(join(tmpdir(), 'quern-quantize-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const expected = JSON.parse(
  readFileSync(new URL('../../../demo-model/model/expected.json', import.meta.url), 'utf8'),
);

beforeAll(() => writeDemoFolder(folder));

async function greedy(path: string, tokens: number): Promise<readonly number[]> {
  const { backend } = countingBackend();
  const model = await loadModel(path, { backend, context: 64 });
  try {
    const options = { maxTokens: tokens, temperature: 0, ignoreEos: true };
    return (await model.generate(expected.promptIds, options).result).tokens;
  } finally {
    model.dispose();
    backend.dispose();
  }
}

test('GGUF → Hugging Face folder → GGUF: the same file', async () => {
  const path = join(folder, 'converted.gguf');
  await quantizeModel(folder, path, { mix: 'f32' });
  const [converted, original] = [await openGguf(path), await openGguf(demoModelPath)];
  const shapes = (file: typeof converted) => new Map(file.tensors.map(({ name, shape }) => [name, shape]));
  expect(shapes(converted)).toEqual(shapes(original));
  for (const [key, value] of original.metadata)
    if (!/^general\.(name|description|license|file_type)$/.test(key) && !/add_space_prefix$/.test(key))
      expect([key, converted.metadata.get(key)]).toEqual([key, value]);
  expect(await greedy(path, 12)).toEqual(expected.greedyIds.slice(0, 12));
});

test('a GGUF file of an unknown architecture is quantised too', async () => {
  const [path, output] = [join(folder, 'other.gguf'), join(folder, 'other-q8.gguf')];
  const data = new Uint8Array(Float32Array.from({ length: 64 }, (_, i) => i).buffer);
  const tensor = { name: 'blk.0.some.weight', shape: [2, 32], format: 'f32', data } as const;
  await writeGguf(path, { metadata: { 'general.architecture': 'other' }, tensors: [tensor] });
  await quantizeModel(path, output, { mix: 'q8_0' });
  expect((await openGguf(output)).tensors[0]).toMatchObject({ name: tensor.name, format: 'q8_0' });
});

test('the vocabulary splits text as before', async () => {
  const path = join(folder, 'tokens.gguf');
  await quantizeModel(folder, path, { mix: 'q8_0' });
  const [converted, original] = [await openTokenizer(path), await openTokenizer(demoModelPath)];
  const text = `${expected.prompt} 123 naïve 狐 <|user|>\n\n  "Why?"`;
  for (const special of ['text', 'parse'] as const)
    expect(converted.encode(text, { special })).toEqual(original.encode(text, { special }));
  expect([...converted.eog]).toEqual([...original.eog]);
});

test('a pre-tokenizer without a GGUF name is refused, unless the caller names it', async () => {
  const tokenizerPath = join(folder, 'tokenizer.json');
  const before = readFileSync(tokenizerPath, 'utf8');
  const split = { type: 'Split', pattern: { Regex: 'x+' }, behavior: 'Isolated' };
  writeFileSync(tokenizerPath, JSON.stringify({ ...JSON.parse(before), pre_tokenizer: split }));
  try {
    const path = join(folder, 'pre.gguf');
    await expect(quantizeModel(folder, path, { mix: 'f16' })).rejects.toThrow(/x\+.*--pre/);
    await quantizeModel(folder, path, { mix: 'f16', pre: 'qwen2' });
    expect((await openGguf(path)).metadata.get('tokenizer.ggml.pre')).toBe('qwen2');
  } finally {
    writeFileSync(tokenizerPath, before);
  }
});

test('perplexity equals the logits’', async () => {
  const { backend } = countingBackend();
  const model = await loadModel(demoModelPath, { backend, context: 32 });
  try {
    const text = expected.prompt;
    const ids = model.tokenize(text).slice(0, 12);
    const logits = await model.logits(ids.slice(0, 8));
    const rest = await model.logits(ids.slice(8));
    const nats = (row: Float32Array, id: number) =>
      Math.log(row.reduce((sum, logit) => sum + Math.exp(logit), 0)) - row[id]!;
    const surprises = [
      ...ids.slice(1, 8).map((id, t) => nats(logits[t]!, id)),
      ...ids.slice(9).map((id, t) => nats(rest[t]!, id)),
    ];
    const mean = surprises.reduce((sum, value) => sum + value, 0) / surprises.length;
    const measured = await perplexity(model, text, { tokens: 12, window: 8 });
    expect(measured.tokens).toBe(10);
    expect(measured.perplexity).toBeCloseTo(Math.exp(mean), 4);
    await expect(perplexity(model, 'a', { tokens: 1 })).rejects.toMatchObject({ code: 'EMPTY_PROMPT' });
    await expect(perplexity(model, text, { window: 1 })).rejects.toMatchObject({ code: 'BAD_OPTION' });
  } finally {
    model.dispose();
    backend.dispose();
  }
});
