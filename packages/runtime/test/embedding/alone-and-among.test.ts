// A text's embedding does not depend on its batch, to the last bit: queries are compared with documents of large
// batches.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend } from '@quern/core';
import { makeSyntheticEncoder } from '@quern/models';
import { loadEmbedder, quantizeModel } from '../../src/index.js';
import { cpuLevels, hasCpu } from '../backends.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-alone-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string) => join(folder, `${name}.gguf`);

const shape = 'bge-small';
const formats = ['f16', 'bf16', 'q8_0', 'q4_k_m', 'int8'] as const;

beforeAll(async () => {
  for (const format of formats)
    if (format !== 'int8') await makeSyntheticEncoder(at(format), { shape, format });
  await makeSyntheticEncoder(at('ranks'), { shape, format: 'f16', ranks: true });
  await quantizeModel(at('f16'), at('int8'), { mix: 'int8' });
}, 120_000);

/** From 1 to 110 words. */
const texts = [1, 5, 13, 14, 15, 30, 62, 63, 110].map((words, i) =>
  Array.from({ length: words }, (_, j) => 'abcdefghij'[(i + j * j) % 10]).join(' '),
);

const bits = (values: Float32Array) => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

/** Empty where scalar kernels are forced, which Jest refuses. */
const isas = cpuLevels.filter((isa) => isa !== 'scalar');
const describeCpu = hasCpu && isas.length > 0 ? describe : describe.skip;

describeCpu.each(isas.length > 0 ? isas : ['scalar'])('on backend-cpu with %s', (isa) => {
  let backend: Backend;
  beforeAll(async () => {
    const { createBackend } = await import('@quern/backend-cpu');
    backend = await createBackend({ isa });
  });
  afterAll(() => backend.dispose());

  test.each(formats)(
    'embeddings in %s',
    async (format) => {
      using model = await loadEmbedder(at(format), { backend });
      const { values, dimensions } = await model.embed(texts);
      for (const [i, text] of texts.entries()) {
        const alone = (await model.embed([text])).values;
        expect(Math.hypot(...alone)).toBeCloseTo(1, 5);
        expect(bits(alone).equals(bits(values.subarray(i * dimensions, (i + 1) * dimensions)))).toBe(true);
      }
    },
    120_000,
  );

  test('scores of a cross-encoder', async () => {
    using model = await loadEmbedder(at('ranks'), { backend });
    const { ranked } = await model.rerank('a b c', texts);
    for (const { index, logit } of ranked) {
      const [alone] = (await model.rerank('a b c', [texts[index]!])).ranked;
      expect(alone!.logit).toBe(logit);
    }
  }, 120_000);
});
