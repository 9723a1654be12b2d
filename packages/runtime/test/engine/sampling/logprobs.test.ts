import { fileURLToPath } from 'node:url';
import { logprobsOf } from '../../../src/engine/sampling/logprobs.js';
import { loadModel } from '../../../src/index.js';
import { hasCpu } from '../../backends.js';

const demo = fileURLToPath(new URL('../../../../demo-model/model/quern-demo.gguf', import.meta.url));

test('log-softmax in double precision', () => {
  const logits = Float32Array.of(2, -1, 1000, Number.NEGATIVE_INFINITY, 999);
  const { token, logprob, top } = logprobsOf(logits, Int32Array.of(2, 4, 0), 4, 2);
  const normaliser = 1000 + Math.log(1 + Math.exp(-1));
  expect([token, logprob]).toEqual([4, 999 - normaliser]);
  expect(top).toEqual([
    { token: 2, logprob: 1000 - normaliser },
    { token: 4, logprob: 999 - normaliser },
  ]);
});

test('of a generation: one entry per token, those of its logits; the tokens are the same', async () => {
  using model = await loadModel(demo, { backend: hasCpu ? 'cpu' : 'reference', context: 64 });
  const options = { temperature: 1.2, seed: 4, maxTokens: 8 };
  const prompt = model.tokenize('Once upon');
  const plain = await model.generate(prompt, options).result;
  expect(plain.logprobs).toBeUndefined();
  const pieces = [];
  const generation = model.generate(prompt, { ...options, logprobs: 3 });
  for await (const { tokens, logprobs } of generation) {
    expect(logprobs!.map(({ token }) => token)).toEqual(tokens);
    pieces.push(...logprobs!);
  }
  const { tokens, logprobs } = await generation.result;
  expect(tokens).toEqual(plain.tokens);
  expect(logprobs).toEqual(pieces);
  const rows = await model.logits([...prompt, ...tokens]);
  for (const [i, { token, logprob, top }] of pieces.entries()) {
    const row = rows[prompt.length + i - 1]!;
    const normaliser = Math.log(row.reduce((sum, logit) => sum + Math.exp(logit), 0));
    expect(logprob).toBeCloseTo(row[token]! - normaliser, 3);
    expect(top).toHaveLength(3);
    expect(top[0]!.logprob).toBeCloseTo(Math.max(...row) - normaliser, 3);
  }
});

test.each([-1, 21, 1.5])('logprobs of %p are refused', async (logprobs) => {
  using model = await loadModel(demo, { backend: 'reference', context: 32 });
  expect(() => model.generate('x', { logprobs })).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('logprobs') }),
  );
});
