// Which text is nearest to a question: node embeddings.js MODEL, such as bge-small-en-v1.5 as GGUF or folder.
// Without MODEL: an encoder of random numbers, which shows the calls, but knows no language.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadEmbedder, makeSyntheticEncoder } from '@quern/runtime';

const folder = mkdtempSync(join(tmpdir(), 'quern-example-'));
const path = process.argv[2] ?? join(folder, 'random.gguf');
if (!process.argv[2]) await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32' });

const model = await loadEmbedder(path);
const texts = ['a mill grinds grain', 'a river runs to the sea', 'bread is made of flour'];
const { values, dimensions } = await model.embed([...texts, 'a mill grinds grain']);
const vector = (i) => values.subarray(i * dimensions, (i + 1) * dimensions);
const similarity = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0); // embeddings have length 1

const question = vector(texts.length);
texts
  .map((text, i) => ({ text, score: similarity(question, vector(i)) }))
  .sort((a, b) => b.score - a.score)
  .forEach(({ text, score }) => console.log(score.toFixed(3), text));
model.dispose();
rmSync(folder, { recursive: true });
