// Makes random models, and computes the true logits of model files. Task: { path, model?, ids }.
import { parentPort } from 'node:worker_threads';
import { createBackend } from '../../../packages/backend-reference/dist/index.js';
import { quernLogits } from './logits.mjs';
import { writeRandomModel } from './random-models.mjs';

const backend = await createBackend();

parentPort.on('message', async ({ path, model, ids }) => {
  if (model) await writeRandomModel(path, model);
  parentPort.postMessage(await quernLogits(path, ids, { backend, kv: 'f32', rows: ids.length }));
});
