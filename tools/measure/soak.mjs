// `node tools/measure/soak.mjs [MINUTES] [MODEL]`: random clients of many kinds against a server in this process, 20 % of
// which leave and 5 % send nonsense. Prints a row per minute and one per kind; ends with status 1 where requests fail or
// hang, blocks stay taken, or memory grows. Build first.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { loadEmbedder, loadModel, makeSyntheticEncoder } from '../../packages/runtime/dist/index.js';
import { serve } from '../../packages/server/dist/index.js';
import { hermesTemplate } from '../../packages/server/test/hermes-template.mjs';
import { soak } from '../../packages/server/test/soak.mjs';

const [minutes = '30', path = 'demo'] = process.argv.slice(2);
const room = { context: 512, sequences: 1, blockSize: 8, cacheMemory: 8 << 20 };
const model = await loadModel(path, { ...room, chatTemplate: hermesTemplate, onNotice: () => {} });
const folder = mkdtempSync(join(tmpdir(), 'quern-soak-'));
const encoderPath = join(folder, 'encoder.gguf');
await makeSyntheticEncoder(encoderPath, { shape: 'tiny', format: 'f32', ranks: true });
const encoder = await loadEmbedder(encoderPath, { onNotice: () => {} });
const models = { model, encoder };
/** Few: the store is full after minutes. The clients refer to the last 50. */
const storedAnswers = 200;
const server = await serve({ models, port: 0, bodyMs: 2000, storedAnswers, speculate: { kind: 'lookup' } });

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc'); // what is left has owners
const megabytes = (bytes) => (bytes / 1e6).toFixed(0).padStart(8);
const rows = [];

function row(ends) {
  collect();
  const { rss, heapUsed } = process.memoryUsage();
  const requests = Object.values(ends).reduce((sum, count) => sum + count, 0);
  const { preemptions, prefixHits, prefixQueries } = model.stats();
  rows.push({ rss, heapUsed });
  const hits = prefixQueries ? (100 * prefixHits) / prefixQueries : 0;
  console.log(
    `${String(rows.length).padStart(6)}${String(requests).padStart(10)}${String(ends.ok ?? 0).padStart(10)}${String(ends.left ?? 0).padStart(9)}` +
      `${String(ends.refused ?? 0).padStart(9)}${megabytes(rss)}${megabytes(heapUsed)}${String(preemptions).padStart(10)}${hits.toFixed(0).padStart(8)} %`,
  );
}

console.log('minute  requests        ok     left  refused  rss MB heap MB    pauses    hits');
const { ends, kinds, hanging } = await soak(server.url, { ms: 60_000 * Number(minutes), onTurn: row });
row(ends);
await server.close();
for (const [kind, counts] of Object.entries(kinds)) console.log(kind, JSON.stringify(counts));

const { ok, left, refused, busy, ...faults } = ends;
const lost = model.stats().blocks - model.freeBlocks;
const half = rows.slice(Math.floor(rows.length / 2));
const [heap, all] = ['heapUsed', 'rss'].map((name) => slope(half.map((row) => row[name])) / 1e6);
console.log(
  `faults: ${JSON.stringify(faults)}; hanging: ${hanging}; blocks not given back: ${lost}; growth in the second half, MB per minute: ${heap.toFixed(2)} of the heap, ${all.toFixed(2)} of all`,
);
for (const each of [model, encoder]) each.dispose();
rmSync(folder, { recursive: true });
process.exit(Object.keys(faults).length > 0 || hanging > 0 || lost > 0 || heap > 0.5 || all > 3 ? 1 : 0);

/** Of the line of least squares through equally spaced values. */
function slope(values) {
  const middle = (values.length - 1) / 2;
  const [sum, square] = values.reduce(
    ([xy, xx], value, x) => [xy + (x - middle) * value, xx + (x - middle) ** 2],
    [0, 0],
  );
  return values.length > 2 ? sum / square : 0;
}
