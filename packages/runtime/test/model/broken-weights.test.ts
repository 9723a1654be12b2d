// NaN and Infinity in weights: every function reports them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend as createReference } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { makeSyntheticEncoder, makeSyntheticSpeechModel } from '@quern/models';
import { cases } from '../../../../test-scope.js';
import {
  type GenerateOptions,
  loadEmbedder,
  loadModel,
  loadSpeechModel,
  type Model,
  perplexity,
} from '../../src/index.js';
import { hasCpu } from '../backends.js';
import { breakWeights } from '../broken-weights.js';
import { writeTinyModel } from '../tiny-model.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-broken-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const says = (code: string, message: RegExp) => ({ code, message: expect.stringMatching(message) });
const badLogits = says(
  'BAD_LOGITS',
  / is (NaN|-?Infinity): the model's weights or its computation are broken$/,
);

const openers: readonly (readonly [string, () => Promise<Backend>])[] = [
  ['reference', createReference],
  ...(hasCpu ? [['cpu', async () => (await import('@quern/backend-cpu')).createBackend()] as const] : []),
];

describe.each(cases(openers, openers.slice(-1)))('on %s', (on, open) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await open();
  });
  afterAll(() => backend.dispose());

  const broken = (path: string, tensor: string, value: number) =>
    breakWeights(path, { to: join(folder, `${on} ${tensor} ${value}.gguf`), tensor, value });

  describe.each([Number.NaN, Number.POSITIVE_INFINITY])('a weight of a layer is %d', (value) => {
    let model: Model;
    beforeAll(async () => {
      const path = await broken(await writeTinyModel(), 'blk.0.attn_norm.weight', value);
      model = await loadModel(path, { backend });
    });
    afterAll(() => model.dispose());

    const ways: readonly (readonly [string, GenerateOptions])[] = [
      ['greedy', { temperature: 0 }],
      ['sampled', { seed: 1 }],
      ['penalised', { temperature: 0, repetitionPenalty: 1.1 }],
      ['speculated', { temperature: 0, speculate: { kind: 'lookup' } }],
    ];

    test.each(ways)('%s text', async (_name, options) => {
      for (const prompt of ['the cat', [1]])
        await expect(model.generate(prompt, { ...options, maxTokens: 8 }).result).rejects.toMatchObject({
          code: 'BAD_LOGITS',
        });
    });

    test('logits and perplexity', async () => {
      await expect(model.logits([1, 5, 7])).rejects.toMatchObject(badLogits);
      await expect(model.logits([1, 5, 7])).rejects.toThrow(
        /the logit of token 0 after token 0 of the prompt/,
      );
      await expect(perplexity(model, 'the cat')).rejects.toMatchObject(badLogits);
      expect(model.freeBlocks).toBe(model.stats().blocks);
    });
  });

  test('one output column: the error names its token', async () => {
    const path = await broken(await writeTinyModel(), 'output.weight', Number.NaN);
    using model = await loadModel(path, { backend });
    await expect(model.logits([1, 5])).rejects.toThrow(
      /the logit of token 0 after token 0 of the prompt is NaN/,
    );
  });

  test('embed: the error names the text', async () => {
    const path = join(folder, `${on} embeds.gguf`);
    await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32' });
    using model = await loadEmbedder(await broken(path, 'blk.0.attn_output_norm.bias', Number.NaN), {
      backend,
    });
    await expect(model.embed(['a', 'b c'])).rejects.toMatchObject(
      says('BAD_EMBEDDING', /^a number of the embedding of text [01] is NaN: the model's weights/),
    );
    using plain = await loadEmbedder(model.path, { backend, normalise: false });
    await expect(plain.embed(['a'])).rejects.toMatchObject({ code: 'BAD_EMBEDDING' });
  });

  test('rank: the error names the text', async () => {
    const path = join(folder, `${on} ranks.gguf`);
    await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32', ranks: true });
    using model = await loadEmbedder(await broken(path, 'cls.output.bias', Number.POSITIVE_INFINITY), {
      backend,
    });
    await expect(model.rerank('a', ['b'])).rejects.toMatchObject(
      says('BAD_LOGITS', /^the logit of text 0 is Infinity: the model's weights/),
    );
  });

  test('speech', async () => {
    const path = join(folder, `${on} whisper.gguf`);
    await makeSyntheticSpeechModel(path, { shape: 'whisper-test', format: 'f32' });
    const samples = Float32Array.from({ length: 8000 }, (_, i) => 0.3 * Math.sin((i * i) / 200_000));
    const sound = { sampleRate: 16_000, samples };
    for (const tensor of ['encoder.ln_post.bias', 'decoder.ln.bias']) {
      using model = await loadSpeechModel(await broken(path, tensor, Number.NaN), { backend });
      for (const options of cases([{ language: 'en' }, { language: 'auto' }], [{ language: 'en' }]))
        await expect(model.transcribe(sound, options).result).rejects.toMatchObject(badLogits);
      await expect(model.compute(sound)).rejects.toMatchObject(badLogits);
    }
    using whole = await loadSpeechModel(path, { backend });
    const holed = { ...sound, samples: samples.with(100, Number.NaN) };
    await expect(whole.transcribe(holed, { language: 'en' }).result).rejects.toMatchObject(
      says('BAD_SAMPLES', /sample 100 is NaN/),
    );
  }, 120_000);
});
