import { readFileSync } from 'node:fs';
import { createBackend } from '@quern/backend-reference';
import {
  decoderConfigFromHuggingFace,
  loadLanguageModel,
  noWindows,
  openModelFile,
  Settings,
} from '@quern/models';
import { convertFolder, randomParameters, writeFolder } from '../random-folder.js';
import { distance, sequenceLogits } from '../run-model.js';
import { olmo2 } from './olmo2.js';
import { plainOlmo2 } from './plain-olmo2.js';

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

const parameters = randomParameters({
  'model.embed_tokens.weight': [10, 16],
  'model.norm.weight': [16],
  'lm_head.weight': [10, 16],
  ...layerShapes('model.layers.0'),
  ...layerShapes('model.layers.1'),
});
const folder = () => writeFolder('olmo2', config, parameters);

async function logitsOf(path: string): Promise<number[][]> {
  const backend = await createBackend();
  const model = await loadLanguageModel(await openModelFile(path), backend);
  try {
    expect(model.architecture).toBe('olmo2');
    return await sequenceLogits(model, ids, 4); // two steps: the second attends to the first's cache
  } finally {
    model.dispose();
    backend.dispose();
  }
}

test('the example’s logits equal the equations’', async () => {
  const expected = plainOlmo2(parameters, ids, sizes);
  expect(distance(await logitsOf(folder()), expected)).toBeLessThan(1e-5);
});

test('converted to GGUF: the same logits', async () => {
  expect(distance(await logitsOf(await convertFolder(folder())), await logitsOf(folder()))).toBeLessThan(
    1e-7,
  );
});

const page = readFileSync(new URL('../../../../docs/writing-a-model.md', import.meta.url), 'utf8');
const blocks = new Map(
  [...page.matchAll(/^```ts (\S+)\n(.*?)^```$/gms)].map(([, name, text]) => [name!, text!]),
);

test.each(['olmo2-weights.ts', 'olmo2-attention.ts', 'olmo2.ts'])(
  'docs/writing-a-model.md shows %s unchanged',
  (name) => {
    expect(olmo2.name).toBe('olmo2');
    expect(blocks.get(name)).toBe(readFileSync(new URL(name, import.meta.url), 'utf8'));
  },
);

/** The page's code block with `text`. */
const blockWith = (text: string): string =>
  [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!).find((code) => code.includes(text))!;

test('the page’s settings reader: defaults and refusals as described', () => {
  const made = new Function(
    'decoderConfigFromHuggingFace',
    'noWindows',
    `return ({ ${blockWith('clip_qkv')} }).configFromHuggingFace`,
  );
  const read = made(decoderConfigFromHuggingFace, noWindows);
  const source = (changes: object) => ({
    settings: new Settings(
      'config.json',
      (key) => Object.entries({ ...config, ...changes }).find(([k]) => k === key)?.[1],
    ),
    weights: { naming: 'huggingFace', paths: [], tensors: new Map() },
  });
  expect(read(source({ max_position_embeddings: undefined }))).toMatchObject({ rmsEps: 1e-5, context: 4096 });
  expect(read(source({ layer_norm_eps: 1e-3 }))).toMatchObject({ rmsEps: 1e-3, context: 32 });
  expect(() => read(source({ clip_qkv: 8 }))).toThrow('clip_qkv is 8: values are not clipped');
});
