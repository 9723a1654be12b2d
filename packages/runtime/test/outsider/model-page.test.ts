// docs/writing-a-model.md: the code of "Using it" with a tiny random model.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { registerArchitecture } from '@quern/models';
import { pumice } from '../../../../docs/examples/architecture/pumice.js';
import { randomParameters, withLayers, writeFolder } from '../../../models/test/random-folder.js';
import { loadModel } from '../../src/index.js';
import { byteCharacters } from '../../src/tokenizer/byte-level.js';

registerArchitecture(pumice);

const page = readFileSync(new URL('../../../../docs/writing-a-model.md', import.meta.url), 'utf8');
const [, code = ''] = /^```ts\n([^`]*?loadModel\([^`]*)^```$/ms.exec(page) ?? [];

const [D, V] = [16, 257];
const config = {
  architectures: ['PumiceForCausalLM'],
  hidden_size: D,
  intermediate_size: 24,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  vocab_size: V,
  max_position_embeddings: 32,
};
const parameters = randomParameters(
  withLayers(
    { 'model.embed_tokens.weight': [V, D], 'model.norm.weight': [D], 'lm_head.weight': [V, D] },
    {
      'model.layers.{i}.self_attn.q_proj.weight': [D, D],
      'model.layers.{i}.self_attn.k_proj.weight': [D, D],
      'model.layers.{i}.self_attn.v_proj.weight': [D, D],
      'model.layers.{i}.self_attn.o_proj.weight': [D, D],
      'model.layers.{i}.self_attn.q_norm.weight': [D],
      'model.layers.{i}.self_attn.k_norm.weight': [D],
      'model.layers.{i}.post_attention_layernorm.weight': [D],
      'model.layers.{i}.post_feedforward_layernorm.weight': [D],
      'model.layers.{i}.mlp.gate_proj.weight': [24, D],
      'model.layers.{i}.mlp.up_proj.weight': [24, D],
      'model.layers.{i}.mlp.down_proj.weight': [D, 24],
    },
    1,
  ),
);
const tokenizer = {
  added_tokens: [{ id: 256, content: '<|endoftext|>', special: true, normalized: false }],
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
  decoder: { type: 'ByteLevel' },
  model: {
    type: 'BPE',
    vocab: Object.fromEntries(byteCharacters.map((letter, id) => [letter, id])),
    merges: [],
  },
};

test('the code of "Using it" prints text', async () => {
  const folder = writeFolder('Pumice-1B', config, parameters);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  const stdout = new PassThrough();
  const load = (path: string) => loadModel(path.replace('Pumice-1B', folder), { backend: 'reference' });
  const statements = code.replace(/^import .*$/gm, '');
  expect(statements).toContain("loadModel('Pumice-1B')");
  const run = new Function('loadModel', 'process', `return (async () => { ${statements} })()`);
  await run(load, { stdout });
  expect(stdout.readableLength).toBeGreaterThan(0);
});
