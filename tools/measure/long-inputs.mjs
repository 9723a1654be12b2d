// Longest block of the event loop for texts far longer than a model's limit: prompts of the demo model, texts to embed.
//   node tools/measure/long-inputs.mjs [FOLDER …] [--limit 20]
// Each FOLDER has a tokenizer.json. On a busy machine `held` exceeds the thread's run time.
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { loadModel, tokenizerFromHuggingFace } from '../../packages/runtime/dist/index.js';
import { demo } from './arguments.mjs';
import { longestHold } from './hold.mjs';

const { values, positionals } = parseArgs({
  options: { limit: { type: 'string', default: '20' } },
  allowPositionals: true,
});
const limit = Number(values.limit);
const texts = {
  prose: 'The mill by the river ground the corn of the valley, and the miller sang.\n',
  accents: 'Été à la forêt, où l’âne brait; 漢字 🦙 und Größe.\n',
};
let worst = 0;

async function measure(name, work) {
  const outcome = () =>
    work().then(
      () => 'done',
      (error) => error.code ?? error,
    );
  const { result, longest, ran } = await longestHold(outcome);
  worst = Math.max(worst, ran);
  console.log(
    `${name.padEnd(46)} ${String(result).padEnd(16)} held ${longest.toFixed(1).padStart(7)} ms; the thread ran ${ran.toFixed(1).padStart(7)} ms in one go`,
  );
}

async function measureTexts(name, sizes, take) {
  await take('warm '.repeat(2000)).catch(() => {});
  for (const megabytes of sizes)
    for (const [kind, unit] of Object.entries(texts)) {
      const text = Buffer.alloc(megabytes * 1e6, unit).toString();
      await measure(`${name}, ${megabytes} MB, ${kind}`, () => take(text));
    }
}

const model = await loadModel(demo, {});
await measureTexts(
  'generate',
  [1, 50],
  (text) => model.generate(text, { maxTokens: 1, reuse: false }).result,
);
model.dispose();
for (const folder of positionals) {
  const tokenizer = await tokenizerFromHuggingFace(folder);
  await measureTexts(basename(folder), [1, 20], (text) => tokenizer.encodeInTurns(text, { limit: 512 }));
}
console.log(
  `${worst <= limit ? 'PASS' : 'FAIL'}             JavaScript held the event loop for at most ${worst.toFixed(2)} ms; the limit is ${limit} ms`,
);
process.exitCode = worst <= limit ? 0 : 1;
