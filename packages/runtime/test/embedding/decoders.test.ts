// Decoders as encoders: plain language models, embedding models and rerankers.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createBackend } from '@quern/backend-reference';
import { promptedTexts } from '../../src/embedding/encode-texts.js';
import { loadEmbedder, modelKind, openTokenizer } from '../../src/index.js';
import { sharedData } from '../shared-data.js';
import { writeTinyModel } from '../tiny-model.js';

const backend = await createBackend();
afterAll(() => backend.dispose());

const texts = ['the a', 'a b c d e f g', 'the'];

test('a language model embeds, and says how at the first embedding', async () => {
  const path = await writeTinyModel();
  const notices: string[] = [];
  const onNotice = (text: string) => notices.push(text);
  using model = await loadEmbedder(path, { backend, onNotice });
  expect(notices).toEqual([]);
  const all = await model.embed(texts);
  for (const [i, text] of texts.entries()) {
    const { values } = await model.embed([text]);
    expect(Math.hypot(...values)).toBeCloseTo(1, 6);
    expect(values).toEqual(all.at(i));
  }
  expect(notices).toEqual([
    expect.stringMatching(/tiny\.gguf: is a language model.* the mean of the hidden states/),
  ]);
  using last = await loadEmbedder(path, { backend, onNotice, pooling: 'last' });
  const { values } = await last.embed([texts[0]!]);
  expect(values).not.toEqual(all.at(0));
  expect(notices).toEqual([expect.anything(), expect.stringContaining('the last of the hidden states')]);
  await expect(model.rerank('a', ['b'])).rejects.toMatchObject({ code: 'NO_CLASSIFIER' });
});

test('dimensions: the first numbers, of length 1 again', async () => {
  using model = await loadEmbedder(await writeTinyModel(), { backend, onNotice: () => {} });
  const whole = await model.embed(texts);
  const short = await model.embed(texts, { dimensions: 5 });
  expect([short.dimensions, short.length, short.values.length]).toEqual([5, 3, 15]);
  for (const i of texts.keys()) {
    const first = whole.at(i).subarray(0, 5);
    const expected = first.map((value) => value / Math.hypot(...first));
    expect(short.at(i)).toEqual(expected);
  }
  for await (const { index, values } of model.embedEach(texts, { dimensions: 5 }))
    expect(values).toEqual(short.at(index));
  expect((await model.embed(texts, { dimensions: 16 })).values).toEqual(whole.values);
  await expect(model.embed(texts, { dimensions: 17 })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: 'dimensions is 17; it must be a whole number from 1 to 16',
  });
  for (const dimensions of [0, 1.5, -1, '4' as never])
    await expect(model.embed(texts, { dimensions })).rejects.toThrow(/dimensions .*must be a whole number/);
  using longer = await loadEmbedder(await writeTinyModel(), {
    backend,
    normalise: false,
    onNotice: () => {},
  });
  const plain = (await longer.embed(texts)).at(0).slice(0, 5);
  expect((await longer.embed(texts, { dimensions: 5 })).at(0)).toEqual(plain);
});

test('the prompt of a reranker: control tokens around a query and a text that spell none', async () => {
  const spell = (token: string) => ({ '<s>': '<|s|>', '</s>': '<|e|>' })[token] ?? token;
  const tokenizer = await openTokenizer(await writeTinyModel({ spell }));
  const template = '<|s|>b {query} the {document}<|e|>';
  const plain = (text: string) => tokenizer.encode(text, { addBos: false, addEos: false });
  const limit = { maxTokens: 20, truncate: false };
  const { encode } = await promptedTexts(tokenizer, 'a', template, limit);
  expect(await encode('d', 0)).toEqual({ ids: [1, ...plain('b a the d'), 2], truncated: false });
  const { ids } = await encode('<|e|>', 0);
  expect(ids.filter((id) => id === 2)).toHaveLength(1);
  await expect(encode('d '.repeat(40), 3)).rejects.toMatchObject({ code: 'PROMPT_TOO_LONG', index: 3 });
  const cutting = await promptedTexts(tokenizer, '$&', template, { maxTokens: 20, truncate: true });
  const cut = await cutting.encode('d '.repeat(40), 3);
  expect([cut.ids.length, cut.ids.at(-1), cut.truncated]).toEqual([20, 2, true]);
  await expect(promptedTexts(tokenizer, 'a '.repeat(40), template, limit)).rejects.toMatchObject({
    code: 'PROMPT_TOO_LONG',
    index: undefined,
  });
});

const at = (name: string) => join(sharedData, 'llamacpp-arch', name, 'model.gguf');
const testFiles = existsSync(at('qwen3-rerank')) ? test : test.skip;

testFiles('Qwen3-Reranker in GGUF: a score for each text, in its prompt', async () => {
  using model = await loadEmbedder(at('qwen3-rerank'), { backend });
  expect(model.ranks).toBe(true);
  expect(model.template).toContain('<Query>: {query}\n<Document>: {document}<|im_end|>');
  const { ranked, tokens } = await model.rerank('why is it blue?', ['air', 'tea', 'air']);
  expect(tokens).toBeGreaterThan(3 * 200);
  const [first, second, third] = [0, 1, 2].map((index) => ranked.find((each) => each.index === index)!);
  expect(first!.score).toBe(third!.score);
  expect(first!.score).not.toBe(second!.score);
  expect(first!.score).toBeCloseTo(1 / (1 + Math.exp(-first!.logit)), 9);
});

testFiles('the kind of a model: files that say that they embed are of encoders', async () => {
  const kinds = ['qwen3-embedding', 'qwen3-rerank', 'eurobert', 'gemma3'].map((name) => modelKind(at(name)));
  expect(await Promise.all(kinds)).toEqual(['encoder', 'encoder', 'encoder', 'language']);
});
