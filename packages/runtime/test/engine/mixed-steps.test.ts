// Captured steps of several sequences: how many rows they may have, and their results.
import { referenceDriver } from '@quern/backend-reference';
import { type Backend, contiguousKvCache, defineBackend } from '@quern/core';
import { type LanguageModel, loadLanguageModel, openModelFile } from '@quern/models';
import { Runner } from '../../src/engine/runner/runner.js';
import { plainMode } from '../../src/engine/sampling/mode.js';
import { tiny, tinyVocabulary, writeTinyModel } from '../tiny-model.js';

let backend: Backend;
let model: LanguageModel;
let captures = 0;

beforeAll(async () => {
  backend = defineBackend(referenceDriver());
  const capture = backend.graph!.capture;
  backend = Object.assign(backend, {
    graph: {
      capture: (...args: Parameters<typeof capture>) => {
        captures++;
        return capture(...args);
      },
    },
  });
  model = await loadLanguageModel(await openModelFile(await writeTinyModel()), backend);
});

beforeEach(() => {
  captures = 0;
});

afterAll(() => {
  model.dispose();
  backend.dispose();
});

const promptOf = (length: number, seed: number): number[] =>
  Array.from({ length }, (_, i) => (seed * 31 + i * 7) % tinyVocabulary);

/** Twice the same step of sequences with these numbers of rows: the tokens chosen, and the steps captured. */
async function mixedTwice(lengths: readonly number[], prefillChunk: number, capture = true) {
  const { layers, kvHeads, headDim, context } = tiny;
  using cache = contiguousKvCache(backend, {
    ...{ layers, kvHeads, headDim, dtype: 'f32', context, sequences: lengths.length },
  });
  const runner = new Runner({ model, cache, capture, prefillChunk });
  const batch = lengths.map((length, i) => {
    const goesOn = i > 0 && i === lengths.length - 1;
    const sequence = cache.sequence();
    sequence.append(length);
    return { start: 0, tokens: promptOf(length, i), blocks: sequence.blockTable, outputs: goesOn ? 0 : 1 };
  });
  const tokensOf = () =>
    runner.run(batch, (rows) => Promise.resolve(rows.map(({ best }) => best[0])), {
      mode: plainMode('argmax'),
    });
  const tokens = [await tokensOf(), await tokensOf()];
  runner.dispose();
  return { tokens, captures };
}

test.each([
  ['64 rows of a chunk of 512', [40, 24], 512, 1],
  ['65 rows of a chunk of 512', [40, 25], 512, 0],
  ['128 rows of a chunk of 1024', [60, 60, 8], 1024, 1],
  ['129 rows of a chunk of 1024', [60, 60, 9], 1024, 0],
  ['256 rows of a chunk of 2048', [80, 80, 80, 16], 2048, 1],
])('%s', async (_, lengths, prefillChunk, expected) => {
  const found = await mixedTwice(lengths, prefillChunk);
  expect(found.captures).toBe(expected);
  const recorded = await mixedTwice(lengths, prefillChunk, false);
  expect(found.tokens).toEqual(recorded.tokens);
});

test('256 sequences of a row: none is left for idle rows', async () => {
  const { captures: captured } = await mixedTwice(new Array(256).fill(1), 2048);
  expect(captured).toBe(0);
});
