import type { Backend } from '@quern/core';
import { describeModel, loadLanguageModel, openModelFile } from '../src/index.js';
import { testedBackends } from './backends.js';
import { decodedBytes, rewriteGguf, scratch } from './model-files.js';
import { distance, sequenceLogits } from './run-model.js';
import { describeShared, goldens, shared } from './shared-data.js';

interface Case {
  readonly name: string;
  readonly file: string;
  readonly config?: string;
  readonly logits: string;
  readonly tolerance: number;
  /** Format of the weights; absent: f32. */
  readonly format?: 'f16';
}

const cases: readonly Case[] = [
  {
    name: 'llama',
    file: 'tiny_llama.safetensors',
    config: 'tiny_llama_config.json',
    logits: 'tiny_llama_logits.json',
    tolerance: 1e-5,
  },
  {
    name: 'llama, two shards',
    file: 'tiny_llama.safetensors.index.json',
    config: 'tiny_llama_config.json',
    logits: 'tiny_llama_logits.json',
    tolerance: 1e-5,
  },
  {
    name: 'llama, a shard opens the whole',
    file: 'tiny_llama-00002-of-00002.safetensors',
    config: 'tiny_llama_config.json',
    logits: 'tiny_llama_logits.json',
    tolerance: 1e-5,
  },
  { name: 'llama, GGUF f32', file: 'tiny_llama_f32.gguf', logits: 'tiny_llama_logits.json', tolerance: 1e-5 },
  {
    name: 'llama, GGUF f16, whose weights are rounded to 11 bits',
    file: 'tiny_llama_f16.gguf',
    logits: 'tiny_llama_logits.json',
    tolerance: 1e-2,
    format: 'f16',
  },
  {
    name: 'qwen2',
    file: 'tiny_qwen2.safetensors',
    config: 'tiny_qwen2_config.json',
    logits: 'tiny_qwen2_logits.json',
    tolerance: 1e-5,
  },
  {
    name: 'qwen3',
    file: 'tiny_qwen3.safetensors',
    config: 'tiny_qwen3_config.json',
    logits: 'tiny_qwen3_logits.json',
    tolerance: 1e-5,
  },
  {
    name: 'qwen3-moe',
    file: 'tiny_qwen3_moe.safetensors',
    config: 'tiny_qwen3_moe_config.json',
    logits: 'tiny_qwen3_moe_logits.json',
    tolerance: 1e-5,
  },
];

for (const { name: on, slack, rounding, open } of await testedBackends())
  describeShared('tiny-hf', `logits of transformers on ${on}`, () => {
    let backend: Backend;
    beforeAll(async () => {
      backend = await open();
    });
    afterAll(() => backend.dispose());

    for (const { name, file, config, logits, tolerance, format } of cases)
      test(name, async () => {
        const opened = await openModelFile(
          shared('tiny-hf', file),
          config ? { config: shared('tiny-hf', config) } : {},
        );
        using model = await loadLanguageModel(opened, backend);
        const { sequences, logits: expected } = goldens(logits);
        for (const [i, ids] of sequences.entries()) {
          const largest = Math.max(...expected[i]!.flat().map(Math.abs));
          const allowed = slack * tolerance + (format ? rounding[format] * largest : 0);
          expect(distance(await sequenceLogits(model, ids), expected[i]!)).toBeLessThan(allowed);
        }
      });

    test('llama q8: GGUF and its source safetensors agree within the quantisation error', async () => {
      const notices: string[] = [];
      const quantised = await openModelFile(shared('tiny-hf', 'tiny_llama_q8.gguf'));
      using q8 = await loadLanguageModel(quantised, backend, {
        onNotice: (message) => notices.push(message),
      });
      const config = shared('tiny-hf', 'tiny_llama_q8_config.json');
      using f32 = await loadLanguageModel(
        await openModelFile(shared('tiny-hf', 'tiny_llama_q8.safetensors'), { config }),
        backend,
      );
      const ids = [0, 3, 6, 1, 4, 7, 2, 5, 0, 3];
      const [approximate, exact] = [await sequenceLogits(q8, ids), await sequenceLogits(f32, ids)];
      expect(distance(approximate, exact)).toBeLessThan(0.05 * Math.max(...exact.flat().map(Math.abs)));
      expect(distance(approximate, exact)).toBeGreaterThan(0);
      expect(q8.weightBytes).toBeGreaterThanOrEqual(describeModel(quantised, backend).weightBytes); // rows may be padded
      expect(notices).toEqual(
        backend.quantGguf
          ? []
          : [expect.stringMatching(/does not read q8_0 natively: 15 tensors are decoded to f32/)],
      );
    });

    test.each(['f16', 'q8'])('llama %s: equal to weights decoded to f32 before loading', async (format) => {
      const path = shared('tiny-hf', `tiny_llama_${format}.gguf`);
      const decoded = scratch(`decoded-${format}.gguf`);
      await rewriteGguf(path, decoded, async (tensor) => ({
        ...tensor,
        format: 'f32',
        data: await decodedBytes(tensor),
      }));
      using asStored = await loadLanguageModel(await openModelFile(path), backend);
      using asF32 = await loadLanguageModel(await openModelFile(decoded), backend);
      const ids = [0, 3, 6, 1, 4, 7, 2, 5];
      const exact = await sequenceLogits(asF32, ids);
      const share = rounding[format as keyof typeof rounding];
      const allowed = share ? share * Math.max(...exact.flat().map(Math.abs)) : slack * 1e-6;
      expect(distance(await sequenceLogits(asStored, ids), exact)).toBeLessThan(allowed);
    });
  });
