import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createBackend } from '@quern/backend-reference';
import { normal } from '@quern/core';
import { loadLanguageModel, openModelFile, toGguf } from '@quern/models';
import { quantizeSource } from '@quern/quant';
import { scratch } from '../model-files.js';
import { distance, sequenceLogits } from '../run-model.js';
import { olmo2 } from './olmo2.js';
import { type Parameters, plainOlmo2 } from './plain-olmo2.js';

const config = {
  architectures: ['Olmo2ForCausalLM'],
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 10,
  max_position_embeddings: 32,
  rms_norm_eps: 1e-6,
  rope_theta: 500_000,
  tie_word_embeddings: false,
};
const sizes = {
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 4,
  theta: config.rope_theta,
  eps: config.rms_norm_eps,
};
const ids = [3, 1, 4, 1, 5, 9];

const shapes: Readonly<Record<string, readonly number[]>> = {
  'model.embed_tokens.weight': [10, 16],
  'model.norm.weight': [16],
  'lm_head.weight': [10, 16],
  ...Object.fromEntries([0, 1].flatMap((i) => Object.entries(layerShapes(`model.layers.${i}`)))),
};

function layerShapes(prefix: string): Record<string, readonly number[]> {
  return {
    [`${prefix}.self_attn.q_proj.weight`]: [16, 16],
    [`${prefix}.self_attn.k_proj.weight`]: [8, 16],
    [`${prefix}.self_attn.v_proj.weight`]: [8, 16],
    [`${prefix}.self_attn.o_proj.weight`]: [16, 16],
    [`${prefix}.self_attn.q_norm.weight`]: [16],
    [`${prefix}.self_attn.k_norm.weight`]: [8],
    [`${prefix}.post_attention_layernorm.weight`]: [16],
    [`${prefix}.post_feedforward_layernorm.weight`]: [16],
    [`${prefix}.mlp.gate_proj.weight`]: [24, 16],
    [`${prefix}.mlp.up_proj.weight`]: [24, 16],
    [`${prefix}.mlp.down_proj.weight`]: [16, 24],
  };
}

const parameters: Parameters = new Map(
  Object.entries(shapes).map(([name, shape], seed) => [
    name,
    { shape, values: Float32Array.from(normal(seed + 1, shape, 0.5).values) },
  ]),
);

/** A folder as Hugging Face transformers writes it. */
function writeFolder(): string {
  const folder = scratch('olmo2');
  mkdirSync(folder, { recursive: true });
  let end = 0;
  const header = [...parameters].map(([name, { shape, values }]) => {
    const begin = end;
    end += values.byteLength;
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }];
  });
  const json = Buffer.from(JSON.stringify(Object.fromEntries(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const data = [...parameters.values()].map(({ values }) => new Uint8Array(values.buffer));
  writeFileSync(join(folder, 'model.safetensors'), Buffer.concat([length, json, ...data]));
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  return folder;
}

async function logitsOf(path: string): Promise<number[][]> {
  const backend = await createBackend();
  const model = await loadLanguageModel(await openModelFile(path), backend);
  try {
    expect(model.architecture).toBe('olmo2');
    return await sequenceLogits(model, ids, 4); // two steps: the second attends to what the first cached
  } finally {
    model.dispose();
    backend.dispose();
  }
}

test('the example computes what the equations say', async () => {
  const expected = plainOlmo2(parameters, ids, sizes);
  expect(distance(await logitsOf(writeFolder()), expected)).toBeLessThan(1e-5);
});

test('converted to GGUF it computes the same', async () => {
  const file = await openModelFile(writeFolder());
  if (file.kind !== 'huggingFace') throw new Error('opened as something else');
  const path = scratch('olmo2.gguf');
  await quantizeSource(await toGguf(file), path, { mix: 'f32' });
  expect(distance(await logitsOf(path), await logitsOf(writeFolder()))).toBeLessThan(1e-7);
});

const page = readFileSync(new URL('../../../../docs/writing-a-model.md', import.meta.url), 'utf8');
const blocks = new Map(
  [...page.matchAll(/^```ts (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [name!, text!]),
);

test.each(['olmo2-weights.ts', 'olmo2-attention.ts', 'olmo2.ts'])(
  'docs/writing-a-model.md shows %s as it is',
  (name) => {
    expect(olmo2.name).toBe('olmo2');
    expect(blocks.get(name)).toBe(readFileSync(new URL(name, import.meta.url), 'utf8'));
  },
);
