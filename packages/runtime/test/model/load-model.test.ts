import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createBackend, referenceDriver } from '@quern/backend-reference';
import { type Backend, defineBackend, need } from '@quern/core';
import { describeFile, type LoadOptions, loadModel, type Progress, quantizeModel } from '../../src/index.js';
import { makeApplication } from '../application.js';
import { countingBackend, hasCpu } from '../backends.js';
import { sharedData, testShared } from '../shared-data.js';
import { tinyVocabulary, writeTinyModel } from '../tiny-model.js';

let path: string;
let backend: Backend;

beforeAll(async () => {
  path = await writeTinyModel();
  backend = await createBackend();
});

afterAll(() => backend.dispose());

test('the model describes itself', async () => {
  const phases = new Set<string>();
  using model = await loadModel(path, { backend, onProgress: ({ phase }) => phases.add(phase) });
  expect(model).toMatchObject({ path, architecture: 'llama', backend: 'reference', context: 96 });
  expect(model.config).toMatchObject({ layers: 2, vocabulary: tinyVocabulary });
  expect(model.plan.reasons.length).toBeGreaterThan(0);
  expect(model.loadMs).toBeGreaterThan(0);
  const { byteLength, formats, model: described } = await describeFile(path);
  const { parameters } = described!;
  expect(model.file).toEqual({ kind: 'gguf', parameters, byteLength, format: formats[0]!.format });
  expect([...phases]).toEqual(['backend', 'weights']);
  expect(model.detokenize(model.tokenize('the cat'))).toBe('the cat');
});

test('the file’s mix has a name', async () => {
  const quantised = join(mkdtempSync(join(tmpdir(), 'quern-mix-')), 'model.gguf');
  await quantizeModel(path, quantised, { mix: 'q5_k_m' });
  using model = await loadModel(quantised, { backend });
  expect(model.file.format).toBe('q5_k_m');
});

test.each([undefined, true, false])('mmap: %s reaches the source of every weight', async (mmap) => {
  const seen = new Set<unknown>();
  const driver = referenceDriver();
  using own = defineBackend({
    ...driver,
    loadWeight(source) {
      if ('path' in source.bytes) seen.add(source.bytes.mmap);
      return driver.loadWeight(source);
    },
  });
  using _model = await loadModel(path, { backend: own, ...(mmap !== undefined && { mmap }) });
  expect([...seen]).toEqual([mmap === false ? false : undefined]);
});

(hasCpu ? test : test.skip)('mmap: false: the file is not needed after loading', async () => {
  const { createBackend } = await import('@quern/backend-cpu');
  using cpu = await createBackend({ threads: 1 });
  const copy = join(mkdtempSync(join(tmpdir(), 'quern-unmapped-')), 'model.gguf');
  const answer = async (mmap: boolean, truncate: boolean) => {
    copyFileSync(path, copy);
    using model = await loadModel(copy, { backend: cpu, mmap });
    if (truncate) truncateSync(copy, 0);
    return (await model.generate('the cat', { maxTokens: 8, temperature: 0 }).result).text;
  };
  const text = await answer(true, false);
  expect(await answer(false, true)).toBe(text);
  await expect(answer(true, true)).rejects.toMatchObject({ code: 'DEVICE_FAILED' });
});

test('a context beyond the trained one gets a notice', async () => {
  const notices: string[] = [];
  using model = await loadModel(path, { backend, context: 200, onNotice: (text) => notices.push(text) });
  expect(model.context).toBe(200);
  expect(notices).toEqual([expect.stringMatching(/200 .* 96/)]);
});

test('a model declared by an installed package, by short name', async () => {
  const resolveFrom = makeApplication({ '@somebody/demo-model': { quern: { model: './tiny.gguf' } } });
  const home = join(resolveFrom, 'node_modules', '@somebody/demo-model');
  copyFileSync(path, join(home, 'tiny.gguf'));
  for (const id of ['demo', '@somebody/demo-model']) {
    using model = await loadModel(id, { backend, resolveFrom });
    expect(model.path).toBe(join(home, 'tiny.gguf'));
  }
});

testShared('a Hugging Face folder without a vocabulary computes ids', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quern-folder-'));
  copyFileSync(join(sharedData, 'tiny-hf', 'tiny_llama.safetensors'), join(folder, 'model.safetensors'));
  copyFileSync(join(sharedData, 'tiny-hf', 'tiny_llama_config.json'), join(folder, 'config.json'));
  const golden = JSON.parse(readFileSync(join(sharedData, 'tiny-hf', 'tiny_llama_logits.json'), 'utf8'));
  using model = await loadModel(folder, { backend, cacheDtype: 'f32' });
  for (const [i, ids] of golden.sequences.entries()) {
    const rows = await model.logits(ids);
    const expected: number[] = golden.logits[i].flat();
    const difference = rows.flatMap((row) => [...row]).map((value, j) => Math.abs(value - expected[j]!));
    expect(difference).toHaveLength(expected.length);
    expect(Math.max(...difference)).toBeLessThan(1e-5);
  }
  const { tokens, text } = await model.generate([2, 6, 2], { temperature: 0, maxTokens: 3 }).result;
  expect([tokens.length, text]).toEqual([3, '']);
  expect(() => model.tokenize('text')).toThrow(expect.objectContaining({ code: 'NO_TOKENIZER' }));
  await expect(model.generate('text').result).rejects.toMatchObject({ code: 'NO_TOKENIZER' });
});

describe('refusals', () => {
  const refusal = (id: string, options: LoadOptions = {}) => loadModel(id, { backend, ...options });

  test('a missing model', async () => {
    await expect(refusal('nowhere.gguf')).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
    await expect(refusal('')).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
    await expect(refusal('demo', { resolveFrom: makeApplication({}) })).rejects.toMatchObject({
      code: 'MODEL_NOT_FOUND',
    });
  });

  test('an id of the Hugging Face Hub: the error has its name', async () => {
    await expect(refusal('Qwen/Qwen3-0.6B')).rejects.toMatchObject({
      code: 'MODEL_NOT_FOUND',
      message: expect.stringContaining('hf:Qwen/Qwen3-0.6B downloads it'),
    });
  });

  test('a folder without a model, and a file that is not a model', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'quern-empty-'));
    await expect(refusal(folder)).rejects.toMatchObject({ code: 'NO_MODEL' });
    writeFileSync(join(folder, 'text.gguf'), 'not a model');
    await expect(refusal(join(folder, 'text.gguf'))).rejects.toMatchObject({ code: 'NOT_GGUF' });
  });

  test.each<[string, object]>([
    ['context', { context: 0 }],
    ['threads', { threads: 1.5 }],
    ['precision', { precision: 'best' }],
    ['sequences', { sequences: -1 }],
    ['prefillChunk', { prefillChunk: Number.NaN }],
    ['cacheDtype', { cacheDtype: 'f8' }],
    ['cache', { cache: 'ring' }],
  ])('a bad %s', async (name, options) => {
    await expect(refusal(path, options)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining(name),
    });
  });

  test('a missing capability and a missing template', async () => {
    await expect(refusal(path, { chatTemplate: 'esperanto' })).rejects.toMatchObject({
      code: 'UNKNOWN_BUILTIN',
    });
    const plain = Object.create(backend, {
      graph: { value: undefined },
      pagedKv: { value: undefined },
    }) as Backend;
    expect(() => need(plain, 'graph')).toThrow();
    await expect(refusal(path, { backend: plain, graph: true })).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    });
  });

  test('memory', async () => {
    await expect(refusal(path, { backend: countingBackend(1000).backend })).rejects.toMatchObject({
      code: 'MODEL_TOO_LARGE',
    });
    await expect(refusal(path, { context: 1e13 })).rejects.toMatchObject({ code: 'CONTEXT_TOO_LARGE' });
  });

  test('a backend that is not installed', async () => {
    await expect(refusal(path, { backend: 'tpu' })).rejects.toMatchObject({ code: 'BACKEND_NOT_FOUND' });
  });

  test('prompts', async () => {
    using model = await loadModel(path, { backend });
    const codeOf = (prompt: string | number[]) =>
      model.generate(prompt).result.then(String, ({ code }) => code);
    expect(await codeOf([1, tinyVocabulary])).toBe('BAD_TOKEN');
    expect(await codeOf([1, 2.5])).toBe('BAD_TOKEN');
    expect(await codeOf([])).toBe('EMPTY_PROMPT');
    expect(await codeOf(Array.from({ length: 96 }, () => 5))).toBe('PROMPT_TOO_LONG');
    expect(() => model.generate('the', { maxTokens: -1 })).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION' }),
    );
    expect(() => model.generate('the', { topP: 2 })).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
    await expect(model.generate('the', { stop: [''] }).result).rejects.toMatchObject({ code: 'BAD_STOP' });
    await expect(model.logits([])).rejects.toMatchObject({ code: 'EMPTY_PROMPT' });
    await expect(model.logits(Array.from({ length: 97 }, () => 5))).rejects.toMatchObject({
      code: 'PROMPT_TOO_LONG',
    });
  });

  test('a chat with a model without template, unless a template is chosen', async () => {
    const plain = await writeTinyModel({ chat: false });
    const messages = [{ role: 'user', content: 'the cat' }];
    const options = { temperature: 0, maxTokens: 3, ignoreEos: true };
    using model = await loadModel(plain, { backend });
    await expect(model.chat(messages).result).rejects.toMatchObject({ code: 'NO_CHAT_TEMPLATE' });
    using chosen = await loadModel(plain, {
      backend,
      chatTemplate: '{% for m in messages %}{{ m.role }}: {{ m.content }}. {% endfor %}bot:',
    });
    using own = await loadModel(path, { backend });
    expect((await chosen.chat(messages, options).result).tokens).toEqual(
      (await own.chat(messages, options).result).tokens,
    );
  });
});

describe('everything is freed', () => {
  test('after dispose', async () => {
    const { backend: counted, live } = countingBackend();
    const model = await loadModel(path, { backend: counted });
    await model.generate('the cat', { temperature: 0, maxTokens: 3 }).result;
    await model.generate('the cat', { seed: 1, maxTokens: 3 }).result;
    expect(live().buffers).toBeGreaterThan(0);
    model.dispose();
    expect(live()).toEqual({ buffers: 0, weights: 0 });
  });

  test('after an abort during loading', async () => {
    const { backend: counted, live } = countingBackend();
    const abort = new AbortController();
    const onProgress = ({ phase, done }: Progress) => {
      if (phase === 'weights' && done > 0) abort.abort();
    };
    const loading = loadModel(path, { backend: counted, signal: abort.signal, onProgress });
    await expect(loading).rejects.toMatchObject({ code: 'ABORTED' });
    expect(live()).toEqual({ buffers: 0, weights: 0 });
    await expect(loadModel(path, { backend: counted, signal: abort.signal })).rejects.toMatchObject({
      code: 'ABORTED',
    });
  });

  test('after a broken file', async () => {
    const { backend: counted, live } = countingBackend();
    const short = join(dirname(path), 'short', 'tiny.gguf');
    mkdirSync(dirname(short), { recursive: true });
    writeFileSync(short, readFileSync(path).subarray(0, 9000));
    await expect(loadModel(short, { backend: counted })).rejects.toMatchObject({ code: 'TRUNCATED' });
    expect(live()).toEqual({ buffers: 0, weights: 0 });
  });
});
