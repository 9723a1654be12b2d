import { writeFileSync } from 'node:fs';
import { createBackend } from '@quern/backend-reference';
import { ropeFrequencies } from '@quern/core';
import { openGguf, quantizeSource } from '@quern/quant';
import {
  embedBackend,
  encoderToGguf,
  llama,
  loadEncoder,
  loadLanguageModel,
  ModelError,
  openEncoderFile,
  openModelFile,
  toGguf,
} from '../src/index.js';
import { scratch } from './model-files.js';
import { writeFolder } from './random-folder.js';
import { distance, sequenceLogits } from './run-model.js';
import { describeShared, goldens, readJson, shared } from './shared-data.js';
import { gemma3Config, gemma3Parameters } from './tiny-gemma.js';
import { phiConfig, phiParameters } from './tiny-phi.js';

async function converted(name: string, config: string) {
  const file = await openModelFile(shared('tiny-hf', name), { config: shared('tiny-hf', config) });
  if (file.kind !== 'huggingFace') throw new Error(`${name} opened as GGUF`);
  const path = scratch(`${name}.gguf`);
  await quantizeSource(await toGguf(file), path, { mix: 'f32' });
  return { file, path };
}

describeShared('tiny-hf', 'converted to GGUF: the logits of transformers', () => {
  test.each(['llama', 'qwen2', 'qwen3', 'qwen3_moe'])('%s', async (name) => {
    const { path } = await converted(`tiny_${name}.safetensors`, `tiny_${name}_config.json`);
    const backend = await createBackend();
    using model = await loadLanguageModel(await openModelFile(path), backend);
    const { sequences, logits } = goldens(`tiny_${name}_logits.json`);
    for (const [i, ids] of sequences.entries())
      expect(distance(await sequenceLogits(model, ids), logits[i]!)).toBeLessThan(1e-5);
  });

  test('llama: the same tensors as from llama.cpp’s converter', async () => {
    const { path } = await converted('tiny_llama.safetensors', 'tiny_llama_config.json');
    const [ours, theirs] = [await openGguf(path), await openGguf(shared('tiny-hf', 'tiny_llama_f32.gguf'))];
    const listed = ({ tensors }: typeof ours) =>
      tensors.map(({ name, shape, format }) => `${name} ${format} [${shape}]`).sort();
    expect(listed(ours)).toEqual(listed(theirs));
  });

  test('an architecture without a GGUF form is refused', async () => {
    const { gguf: _, ...silent } = llama;
    const file = await openModelFile(shared('tiny-hf', 'tiny_llama.safetensors'), {
      config: shared('tiny-hf', 'tiny_llama_config.json'),
    });
    if (file.kind !== 'huggingFace') throw new Error('opened as GGUF');
    const changed = { ...file, architecture: silent };
    await expect(toGguf(changed)).rejects.toThrow(ModelError);
  });
});

describeShared('tiny-hf', 'YaRN with truncate false', () => {
  test('its frequencies become rope_freqs: the same frequencies and magnitude', async () => {
    const config = {
      ...readJson('tiny-hf', 'tiny_llama_config.json'),
      rope_scaling: { rope_type: 'yarn', factor: 8, original_max_position_embeddings: 64, truncate: false },
    };
    writeFileSync(scratch('yarn.json'), JSON.stringify(config));
    const file = await openModelFile(shared('tiny-hf', 'tiny_llama.safetensors'), {
      config: scratch('yarn.json'),
    });
    if (file.kind !== 'huggingFace') throw new Error('opened as GGUF');
    const notices: string[] = [];
    const path = scratch('yarn.gguf');
    await quantizeSource(await toGguf(file, { onNotice: (text) => notices.push(text) }), path, {
      mix: 'f32',
    });
    const { headDim, rope } = file.config;
    const [before, after] = [rope, (await openModelFile(path)).config.rope].map((some) =>
      ropeFrequencies(some, headDim),
    );
    expect(Array.from(after!.frequencies)).toEqual(
      Array.from(before!.frequencies, (frequency) => expect.closeTo(frequency, 6)),
    );
    expect(after!.magnitude).toBeCloseTo(before!.magnitude, 6);
    expect(notices).toEqual([expect.stringContaining('truncate: false')]);
  });
});

describeShared('tiny-hf', 'notices for what llama.cpp computes differently', () => {
  test.each([
    [{ norm_topk_prob: false }, /do not sum to one/],
    [{ mlp_only_layers: [1] }, /no experts/],
    [{}, undefined],
  ])('%j', async (changes, notice) => {
    const config = { ...readJson('tiny-hf', 'tiny_qwen3_moe_config.json'), norm_topk_prob: true, ...changes };
    writeFileSync(scratch('moe.json'), JSON.stringify(config));
    const tensors = shared('tiny-hf', 'tiny_qwen3_moe.safetensors');
    const file = await openModelFile(tensors, { config: scratch('moe.json') });
    const notices: string[] = [];
    if (file.kind === 'huggingFace')
      await toGguf(file, { onNotice: (text) => notices.push(text) }).catch(() => {});
    const said = notices.filter((text) => text.includes('llama.cpp'));
    expect(said).toEqual(notice ? [expect.stringMatching(notice)] : []);
  });
});

test.each([
  ['gemma3', { ...gemma3Config, query_pre_attn_scalar: 8 }, gemma3Parameters, undefined],
  ['gemma3', gemma3Config, gemma3Parameters, /llama.cpp multiplies q·k by 0.3535.* instead of 0.3162/],
  [
    'gemma3',
    { ...gemma3Config, query_pre_attn_scalar: 8, sliding_window_pattern: 3 },
    gemma3Parameters,
    /llama.cpp may give full attention to every 6th layer only/,
  ],
  ['phi3', phiConfig, phiParameters, /llama.cpp has no windows in this architecture: .* 10 tokens/],
  ['phi3', { ...phiConfig, sliding_window: 48 }, phiParameters, undefined],
])('%s: a notice for what llama.cpp computes differently', async (name, config, parameters, notice) => {
  const file = await openModelFile(writeFolder(`notice-${name}`, config, parameters));
  if (file.kind !== 'huggingFace') throw new Error('opened as GGUF');
  const notices: string[] = [];
  await toGguf(file, { onNotice: (text) => notices.push(text) });
  expect(notices).toEqual(notice ? [expect.stringMatching(notice)] : []);
});

describeShared('tiny-bert-hf-dir', 'an encoder of transformers, converted', () => {
  test.each([
    ['tiny_bert', 'bert'],
    ['tiny_nomic', 'nomic-bert'],
  ])('%s: the same vectors as from its folder', async (name, architecture) => {
    const file = await openEncoderFile(shared('tiny-bert-hf-dir', name));
    if (file.kind !== 'huggingFace') throw new Error(`${name} opened as GGUF`);
    const path = scratch(`${name}.gguf`);
    await quantizeSource(await encoderToGguf(file), path, { mix: 'f32' });
    expect((await openGguf(path)).metadata.get('general.architecture')).toBe(architecture);
    using backend = await createBackend();
    using before = embedBackend(await loadEncoder(file, backend));
    using after = embedBackend(await loadEncoder(await openEncoderFile(path), backend));
    const texts = [3, 17, 60].map((length) => ({ ids: Array.from({ length }, (_, i) => (7 * i + 5) % 256) }));
    expect(await after.embedBatch(texts)).toEqual(await before.embedBatch(texts));
  });
});
