// Granite is Llama with four factors. The same factors multiplied into the weights of a Llama: the same logits.
import { createBackend } from '@quern/backend-reference';
import { loadLanguageModel, ModelError, openModelFile } from '../src/index.js';
import {
  convertFolder,
  type Parameters,
  randomParameters,
  withLayers,
  writeFolder,
} from './random-folder.js';
import { distance, sequenceLogits } from './run-model.js';

const factors = {
  embedding_multiplier: 12,
  residual_multiplier: 0.22,
  attention_multiplier: 0.015625,
  logits_scaling: 8,
};
const config = {
  ...{ architectures: ['GraniteForCausalLM'], hidden_size: 32, intermediate_size: 48, num_hidden_layers: 3 },
  ...{ num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 40, rms_norm_eps: 1e-5 },
  ...{ max_position_embeddings: 64, rope_theta: 10_000, tie_word_embeddings: false, ...factors },
};
const layer = 'model.layers.{i}.';
const parameters = randomParameters(
  withLayers(
    { 'model.embed_tokens.weight': [40, 32], 'model.norm.weight': [32], 'lm_head.weight': [40, 32] },
    {
      [`${layer}input_layernorm.weight`]: [32],
      [`${layer}self_attn.q_proj.weight`]: [32, 32],
      [`${layer}self_attn.k_proj.weight`]: [16, 32],
      [`${layer}self_attn.v_proj.weight`]: [16, 32],
      [`${layer}self_attn.o_proj.weight`]: [32, 32],
      [`${layer}post_attention_layernorm.weight`]: [32],
      [`${layer}mlp.gate_proj.weight`]: [48, 32],
      [`${layer}mlp.up_proj.weight`]: [48, 32],
      [`${layer}mlp.down_proj.weight`]: [32, 48],
    },
    3,
  ),
);

/** What multiplies a parameter of the Llama. Its attention multiplies q·k by 1/√8. */
function factorOf(name: string): number {
  if (name.startsWith('model.embed_tokens')) return factors.embedding_multiplier;
  if (name.startsWith('lm_head')) return 1 / factors.logits_scaling;
  if (name.includes('q_proj')) return factors.attention_multiplier * Math.sqrt(8);
  return /o_proj|down_proj/.test(name) ? factors.residual_multiplier : 1;
}

const folded: Parameters = new Map(
  [...parameters].map(([name, { shape, values }]) => [
    name,
    { shape, values: values.map((value) => value * factorOf(name)) },
  ]),
);

async function logitsOf(path: string): Promise<number[][]> {
  using backend = await createBackend();
  using model = await loadLanguageModel(await openModelFile(path), backend);
  return sequenceLogits(model, [3, 1, 4, 1, 5, 9, 2, 6, 5, 35]);
}

test('the logits of a Llama whose weights hold the factors; the same from a converted file', async () => {
  const llama = writeFolder('granite-folded', { ...config, architectures: ['LlamaForCausalLM'] }, folded);
  const wanted = await logitsOf(llama);
  const folder = writeFolder('granite', config, parameters);
  expect(distance(await logitsOf(folder), wanted)).toBeLessThan(1e-5);
  expect(distance(await logitsOf(await convertFolder(folder)), wanted)).toBeLessThan(1e-5);
});

test.each(Object.keys(factors))('a %s of 0 is refused', async (key) => {
  const folder = writeFolder(`granite-${key}`, { ...config, [key]: 0 }, parameters);
  const opened = openModelFile(folder);
  await expect(opened).rejects.toThrow(ModelError);
  await expect(opened).rejects.toThrow(key);
});
