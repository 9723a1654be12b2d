import { jsonOf, postJson, showingProblems } from './api.js';
import { table, wideBox } from './elements.js';

const texts = document.getElementById('texts');
const model = document.getElementById('embedding-model');
const place = document.getElementById('similarities');
const form = document.getElementById('embed');
const compare = form.querySelector('button');

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

async function embed() {
  const input = texts.value.split('\n').filter((line) => line.trim() !== '');
  const { data } = await jsonOf(await postJson('v1/embeddings', { model: model.value || undefined, input }));
  const rows = data.map((a, i) => [input[i], ...data.map((b) => cosine(a.embedding, b.embedding))]);
  place.replaceChildren(wideBox('Similarities', table(['cosine', ...input], rows)));
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  compare.disabled = true;
  await showingProblems(embed);
  compare.disabled = false;
});
