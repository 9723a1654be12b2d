// Embeddings of a random BERT in some formats, compared with those of its f32 weights on backend-reference.
import { join } from 'node:path';
import { createBackend } from '../../../packages/backend-reference/dist/index.js';
import { loadEmbedder, makeSyntheticEncoder, quantizeModel } from '../../../packages/runtime/dist/index.js';

/** The least cosine per format; null: printed only. */
const limits = { f16: 0.9999, int8: null };
const texts = [
  'the mill by the river',
  'corn, ground slowly.',
  'x',
  'a stone turns on a stone: 1 2 3 4 5 6 7',
];

async function vectorsOf(path, backend) {
  const model = await loadEmbedder(path, { backend });
  const vectors = [];
  for (const text of texts) vectors.push((await model.embed([text])).values);
  model.dispose();
  return vectors;
}

function cosine(a, b) {
  let [dot, aa, bb] = [0, 0, 0];
  for (const [i, x] of a.entries()) [dot, aa, bb] = [dot + x * b[i], aa + x * x, bb + b[i] * b[i]];
  return dot / Math.sqrt(aa * bb);
}

/** Prints the least cosine of the texts for each format and backend. Returns the faults, as texts. */
export async function compareEmbeddings(folder, backends) {
  const floats = join(folder, 'encoder.gguf');
  await makeSyntheticEncoder(floats, { shape: 'minilm-l6', format: 'f32' });
  const reference = await createBackend();
  const truth = await vectorsOf(floats, reference);
  reference.dispose();
  const faults = [];
  console.log('\n| minilm-l6, random weights | least cosine to the f32 weights |\n| --- | --- |');
  for (const [mix, limit] of Object.entries(limits)) {
    const path = join(folder, `encoder-${mix}.gguf`);
    await quantizeModel(floats, path, { mix });
    for (const [engine, backend] of backends) {
      const vectors = await vectorsOf(path, backend);
      const least = Math.min(...vectors.map((vector, i) => cosine(vector, truth[i])));
      console.log(`| ${mix}, ${engine} | ${least.toFixed(7)} |`);
      if (limit !== null && engine === 'Quern' && !(least >= limit))
        faults.push(`embeddings in ${mix} have a cosine of ${least.toFixed(6)}; the limit is ${limit}`);
    }
  }
  return faults;
}
