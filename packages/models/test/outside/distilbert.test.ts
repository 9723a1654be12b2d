import { readFileSync } from 'node:fs';
import { createBackend } from '@quern/backend-reference';
import { encoderToGguf, loadEncoder, openEncoderFile, registerArchitecture } from '@quern/models';
import { quantizeSource } from '@quern/quant';
import { randomParameters, withLayers, writeFolder } from '../random-folder.js';
import { distilbert } from './distilbert.js';

registerArchitecture(distilbert);

const [D, F, V] = [16, 24, 10];
/** BERT's names and shapes, without segments; DistilBERT's name of each. */
const layer: readonly (readonly [string, string, readonly number[]])[] = [
  ['attention.self.query', 'attention.q_lin', [D, D]],
  ['attention.self.key', 'attention.k_lin', [D, D]],
  ['attention.self.value', 'attention.v_lin', [D, D]],
  ['attention.output.dense', 'attention.out_lin', [D, D]],
  ['attention.output.LayerNorm', 'sa_layer_norm', [D]],
  ['intermediate.dense', 'ffn.lin1', [F, D]],
  ['output.dense', 'ffn.lin2', [D, F]],
  ['output.LayerNorm', 'output_layer_norm', [D]],
];
const shapesUnder = (prefix: string, which: 0 | 1) =>
  withLayers(
    {
      'embeddings.word_embeddings.weight': [V, D],
      'embeddings.position_embeddings.weight': [12, D],
      'embeddings.LayerNorm.weight': [D],
      'embeddings.LayerNorm.bias': [D],
    },
    Object.fromEntries(
      layer.flatMap((names) => [
        [`${prefix}.layer.{i}.${names[which]}.weight`, names[2]],
        [`${prefix}.layer.{i}.${names[which]}.bias`, names[2].slice(0, 1)],
      ]),
    ),
    2,
  );

const sizes = { vocab_size: V, max_position_embeddings: 12 };
const path = writeFolder(
  'distilbert',
  {
    architectures: ['DistilBertModel'],
    dim: D,
    n_layers: 2,
    n_heads: 2,
    hidden_dim: F,
    activation: 'gelu',
    ...sizes,
  },
  randomParameters(shapesUnder('transformer', 1)),
);
/** The same numbers as a BERT, which has tests against transformers. */
const bertPath = writeFolder(
  'bert-without-segments',
  {
    ...{ architectures: ['BertModel'], hidden_size: D, num_hidden_layers: 2, num_attention_heads: 2 },
    ...{ intermediate_size: F, hidden_act: 'gelu', ...sizes },
  },
  randomParameters(shapesUnder('encoder', 0)),
);

async function hiddenOf(file: string): Promise<number[]> {
  using backend = await createBackend();
  using model = await loadEncoder(await openEncoderFile(file), backend);
  using step = backend.step();
  return Array.from(await step.read(model.hidden(step, [{ ids: [3, 1, 4] }, { ids: [1, 5, 9, 2] }])));
}

test('an outside encoder: the hidden states of BERT with the same numbers', async () => {
  expect((await openEncoderFile(path)).architecture.name).toBe('distilbert');
  expect(await hiddenOf(path)).toEqual(await hiddenOf(bertPath));
});

test('converted to GGUF: a BERT', async () => {
  const file = await openEncoderFile(path);
  if (file.kind !== 'huggingFace') throw new Error('opened as GGUF');
  await quantizeSource(await encoderToGguf(file), `${path}.gguf`, { mix: 'f32' });
  expect((await openEncoderFile(`${path}.gguf`)).architecture.name).toBe('bert');
  expect(await hiddenOf(`${path}.gguf`)).toEqual(await hiddenOf(path));
});

test('docs/writing-a-model.md shows distilbert.ts unchanged', () => {
  const page = readFileSync(new URL('../../../../docs/writing-a-model.md', import.meta.url), 'utf8');
  const [, shown] = /^```ts distilbert\.ts\n(.*?)^```$/ms.exec(page) ?? [];
  expect(shown).toBe(readFileSync(new URL('distilbert.ts', import.meta.url), 'utf8'));
});
