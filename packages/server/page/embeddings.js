import { postJson, showingProblems } from './api.js';
import { table } from './elements.js';

const texts = document.getElementById('texts');
const model = document.getElementById('embedding-model');
const place = document.getElementById('similarities');

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));

document.getElementById('embed').addEventListener('submit', (event) => {
  event.preventDefault();
  void showingProblems(async () => {
    const input = texts.value.split('\n').filter((line) => line.trim() !== '');
    const response = await postJson('v1/embeddings', { model: model.value || undefined, input });
    const { data } = await response.json();
    const rows = data.map((a, i) => [input[i], ...data.map((b) => cosine(a.embedding, b.embedding))]);
    place.replaceChildren(table(['cosine', ...input], rows));
  });
});
