// `node tools/measure/soak.mjs [MINUTES] [MODEL]`: random clients against a server in this process, 20 % of which leave and
// 5 % send nonsense. Prints a row per minute; ends with status 1 where requests fail or hang, blocks stay taken, or memory
// grows. Build first.
import { loadModel } from '../../packages/runtime/dist/index.js';
import { serve } from '../../packages/server/dist/index.js';
import { soak } from '../../packages/server/test/soak.mjs';

const [minutes = '30', path = 'demo'] = process.argv.slice(2);
const model = await loadModel(path, { cache: 'paged', context: 512, sequences: 2, onNotice: () => {} });
const server = await serve({ models: { model }, port: 0 });

const megabytes = (bytes) => (bytes / 1e6).toFixed(0).padStart(8);
const rows = [];

function row(ends) {
  global.gc?.();
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
const { ends, hanging } = await soak(server.url, { ms: 60_000 * Number(minutes), onTurn: row });
row(ends);
await server.close();

const { ok, left, refused, busy, ...faults } = ends;
const lost = model.stats().blocks - model.freeBlocks;
const half = rows.slice(Math.floor(rows.length / 2));
const growth = half.length > 2 ? (half.at(-1).rss - half[0].rss) / half.length / 1e6 : 0;
console.log(
  `faults: ${JSON.stringify(faults)}; hanging: ${hanging}; blocks not given back: ${lost}; growth in the second half: ${growth.toFixed(2)} MB per minute`,
);
model.dispose();
process.exit(Object.keys(faults).length > 0 || hanging > 0 || lost > 0 || growth > 1 ? 1 : 0);
