import { mkdirSync, writeFileSync } from 'node:fs';
import { createBackend } from '@quern/backend-reference';
import { bert, loadEncoder, nomicBert, openEncoderFile, roberta, type WeightFile } from '../src/index.js';
import { scratch, writeZeros } from './model-files.js';

const tensorsOf = (shapes: Readonly<Record<string, readonly number[]>>): WeightFile => ({
  naming: 'huggingFace',
  paths: ['model.safetensors'],
  tensors: new Map(
    Object.entries(shapes).map(([name, shape]) => {
      const byteLength = 4 * shape.reduce((n, d) => n * d, 1);
      return [
        name,
        { name, shape, format: 'f32', bytes: { path: 'model.safetensors', offset: 1000, byteLength } },
      ];
    }),
  ),
});

const D = 8;
const matrix = (rows = D) => [rows, D];

const layer = {
  'attention.self.query.weight': matrix(),
  'attention.self.query.bias': [D],
  'attention.self.key.weight': matrix(),
  'attention.self.key.bias': [D],
  'attention.self.value.weight': matrix(),
  'attention.self.value.bias': [D],
  'attention.output.dense.weight': matrix(),
  'attention.output.dense.bias': [D],
  'attention.output.LayerNorm.weight': [D],
  'attention.output.LayerNorm.bias': [D],
  'intermediate.dense.weight': matrix(16),
  'intermediate.dense.bias': [16],
  'output.dense.weight': [D, 16],
  'output.dense.bias': [D],
  'output.LayerNorm.weight': [D],
  'output.LayerNorm.bias': [D],
};

const encoder = {
  'embeddings.word_embeddings.weight': matrix(10),
  'embeddings.position_embeddings.weight': matrix(20),
  'embeddings.token_type_embeddings.weight': matrix(1),
  'embeddings.LayerNorm.weight': [D],
  'embeddings.LayerNorm.bias': [D],
  ...Object.fromEntries(Object.entries(layer).map(([name, shape]) => [`encoder.layer.0.${name}`, shape])),
};

const config = {
  hidden_size: D,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  intermediate_size: 16,
  vocab_size: 10,
  max_position_embeddings: 20,
};

/** A folder with a config.json, zero weights, and other files. */
function folderOf(
  name: string,
  settings: object,
  shapes: Readonly<Record<string, readonly number[]>>,
  files: Readonly<Record<string, unknown>> = {},
): string {
  mkdirSync(scratch(name, '1_Pooling'), { recursive: true });
  writeZeros(scratch(name, 'model.safetensors'), shapes);
  for (const [file, value] of Object.entries({ 'config.json': { ...config, ...settings }, ...files }))
    writeFileSync(scratch(name, file), JSON.stringify(value));
  return scratch(name);
}

const prefixed = (prefix: string, shapes: Readonly<Record<string, readonly number[]>>) =>
  Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [`${prefix}${name}`, shape]));

test('RoBERTa: first position after the padding row; classifier under another name', async () => {
  const head = {
    'classifier.dense.weight': matrix(),
    'classifier.dense.bias': [D],
    'classifier.out_proj.weight': matrix(1),
    'classifier.out_proj.bias': [1],
  };
  const settings = { architectures: ['XLMRobertaForSequenceClassification'], pad_token_id: 1 };
  const file = await openEncoderFile(
    folderOf('roberta', settings, { ...prefixed('roberta.', encoder), ...head }),
  );
  expect(file.architecture).toBe(roberta);
  expect(file.config).toMatchObject({ firstPosition: 2, context: 18, labels: 1, segments: 1 });
  using backend = await createBackend();
  using model = await loadEncoder(file, backend);
  using step = backend.step();
  const logits = await step.read(model.classify(step, [{ ids: [1, 2] }, { ids: Array(18).fill(3) }]));
  expect(Array.from(logits)).toEqual([0, 0]);
});

test('pooling, normalisation, length and prompts from sentence-transformers’ files', async () => {
  const folder = folderOf('st', { architectures: ['BertModel'] }, encoder, {
    '1_Pooling/config.json': { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false },
    'modules.json': [{ type: 'sentence_transformers.models.Transformer' }],
    'sentence_bert_config.json': { max_seq_length: 12 },
    'config_sentence_transformers.json': { prompts: { query: 'query: ' } },
  });
  const { architecture, config: found, prompts } = await openEncoderFile(folder);
  expect(architecture).toBe(bert);
  expect(found).toMatchObject({ pooling: 'cls', normalise: false, context: 12 });
  expect(prompts).toEqual({ query: 'query: ' });
});

test.each<[string, object, Readonly<Record<string, unknown>>, string]>([
  [
    'an unsupported pooling',
    {},
    { '1_Pooling/config.json': { pooling_mode_max_tokens: true } },
    'cls, mean or last',
  ],
  [
    'a matrix after the pooling',
    {},
    {
      'modules.json': [{ type: 'x.models.Dense', path: '1_Pooling' }],
      '1_Pooling/config.json': { bias: true },
    },
    'a matrix after the pooling is supported without bias only',
  ],
  ['relative positions', { position_embedding_type: 'relative_key' }, {}, 'absolute positions'],
  ['an unsupported activation', { hidden_act: 'relu' }, {}, 'gelu'],
  ['modules that are not a list', {}, { 'modules.json': { type: 'x' } }, 'a list of JSON objects'],
  [
    'prompts that are not strings',
    {},
    { 'config_sentence_transformers.json': { prompts: { query: 1 } } },
    'a string',
  ],
  ['impossible sizes', { hidden_size: 2 ** 40 }, {}, 'hidden_size'],
  ['heads that do not divide the width', { num_attention_heads: 3 }, {}, 'a divisor of the width 8'],
])('%s: refused', async (name, settings, files, message) => {
  const folder = folderOf(
    name.replaceAll(' ', '-'),
    { architectures: ['BertModel'], ...settings },
    encoder,
    files,
  );
  await expect(openEncoderFile(folder)).rejects.toThrow(message);
});

test('Nomic’s names: fused q, k and v', () => {
  const own = tensorsOf({
    'encoder.layers.3.attn.Wqkv.weight': matrix(3 * D),
    'encoder.layers.3.mlp.fc12.weight': matrix(),
  });
  const { tensors } = nomicBert.rename(own);
  expect(tensors.get('encoder.layer.3.attention.self.key.weight')).toMatchObject({
    shape: [D, D],
    bytes: { offset: 1000 + 4 * D * D, byteLength: 4 * D * D },
  });
  expect(tensors.has('encoder.layer.3.mlp.gate.weight')).toBe(true);
});
