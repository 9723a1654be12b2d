// `precision` reaches the backend by every way of loading, and the logits are as exact as it says.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createBackend as createReference } from '@quern/backend-reference';
import { type Backend, type Precision, precisions } from '@quern/core';
import { makeSyntheticEncoder, makeSyntheticSpeechModel } from '@quern/models';
import {
  loadEmbedder,
  loadModel,
  loadSpeechModel,
  planModel,
  quantizeModel,
  type SpeechLoadOptions,
} from '../../src/index.js';
import { cpuLevels, hasCpu } from '../backends.js';

const demo = fileURLToPath(new URL('../../../demo-model/model/quern-demo.gguf', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'quern-precision-'));
afterAll(() => rmSync(folder, { recursive: true }));
const [language, encoder, speech] = ['language', 'encoder', 'speech'].map((name) =>
  join(folder, `${name}.gguf`),
) as [string, string, string];

beforeAll(async () => {
  await quantizeModel(demo, language, { mix: 'q4_0' });
  await makeSyntheticEncoder(encoder, { shape: 'tiny', format: 'f32' });
  await makeSyntheticSpeechModel(speech, { shape: 'whisper-test', format: 'f32' });
}, 120_000);

const loads = {
  loadModel: (options: SpeechLoadOptions) => loadModel(language, options),
  planModel: (options: SpeechLoadOptions) => planModel(language, options),
  loadEmbedder: ({ graph: _, ...options }: SpeechLoadOptions) => loadEmbedder(encoder, options),
  loadSpeechModel: (options: SpeechLoadOptions) => loadSpeechModel(speech, options),
};

describe.each(Object.entries(loads))('%s', (_, load) => {
  test('a backend that exists has its precision already', async () => {
    using backend: Backend = await createReference();
    await expect(load({ backend, precision: 'exact' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('give precision to its createBackend'),
    });
  });

  test('a backend that exists has its threads already', async () => {
    using backend: Backend = await createReference();
    await expect(load({ backend, threads: 2 })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('threads 2: only for a backend given by name'),
    });
  });

  test('an unknown precision', async () => {
    await expect(load({ precision: 'best' as Precision })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining("precision is 'best' (a string); it must be 'fast' or"),
    });
  });
});

(hasCpu ? describe : describe.skip)('backend-cpu', () => {
  test('gets the precision of every way of loading; the plan tells it', async () => {
    for (const precision of precisions) {
      const options = { backend: 'cpu', threads: 1, precision };
      const seen: (string | undefined)[] = [];
      {
        using model = await loads.loadModel(options);
        using embedder = await loads.loadEmbedder(options);
        seen.push(model.profile.precision, model.plan.ranges[0]!.precision, embedder.profile.precision);
      }
      seen.push((await loads.planModel(options)).ranges[0]!.precision);
      expect(seen).toEqual([precision, precision, precision, precision]);
    }
    const refused = { backend: 'cpu', backendOptions: { precision: 'best' } };
    await expect(loads.loadSpeechModel(refused)).rejects.toMatchObject({ code: 'BACKEND_FAILED' });
    using _speech = await loads.loadSpeechModel({ ...refused, precision: 'fast' }); // the option replaces backendOptions'
  });

  test('several backends: each gets it', async () => {
    const { ranges } = await planModel(language, { backend: 'cpu,reference', precision: 'fast' });
    expect(ranges.map(({ precision }) => precision)).toEqual(['fast', 'exact']);
  });

  test.each(cpuLevels)('%s: logits of a prompt are as exact as asked', async (isa) => {
    const ids = Array.from({ length: 80 }, (_, i) => 3 + ((7 * i) % 200));
    const logitsAt = async (backend: string, precision: Precision) => {
      const backendOptions = backend === 'cpu' ? { isa } : undefined;
      using model = await loadModel(language, { backend, precision, backendOptions });
      return (await model.logits(ids)).flatMap((row) => Array.from(row));
    };
    const norm = (values: number[]) => Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0));
    const expected = await logitsAt('reference', 'exact');
    const errorOf = async (precision: Precision) => {
      const got = await logitsAt('cpu', precision);
      return norm(got.map((value, i) => value - expected[i]!)) / norm(expected);
    };
    const [fast, standard, exact] = [
      await errorOf('fast'),
      await errorOf('standard'),
      await errorOf('exact'),
    ];
    expect(exact).toBeLessThan(1e-4);
    if (isa === 'scalar') return;
    expect(standard).toBeGreaterThan(10 * exact);
    expect(standard).toBeLessThan(0.05);
    if (['avx512-vnni', 'avx512-bf16', 'amx'].includes(isa)) expect(fast).toBeGreaterThan(1.2 * standard);
  });
});
