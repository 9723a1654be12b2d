// llama.cpp's log-probabilities for the tiny files of packages/models/test/llama-cpp.test.ts, with f32 caches:
//   node llama-cpp-goldens.mjs FOLDER [--peer node_modules]
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values: options, positionals } = parseArgs({
  options: { peer: { type: 'string', default: 'node_modules' } },
  allowPositionals: true,
});
const peer = resolve(options.peer, 'node-llama-cpp');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(join(peer, 'dist/index.js')).href);
const { version } = JSON.parse(readFileSync(join(peer, 'package.json'), 'utf8'));
const output = fileURLToPath(new URL('../../packages/models/test/goldens/llama-cpp.json', import.meta.url));
const { ids } = JSON.parse(readFileSync(output, 'utf8'));
const files = [
  ['gemma2', 256],
  ['gemma3', 256],
  ['phi-4-mini', 256],
  ['phi-4-mini', 1024],
  ['phi-untied', 256], // for a name with phi-3, llama.cpp requires that model's tokens
];

const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });

async function foretold(name, contextSize) {
  const model = await llama.loadModel({ modelPath: join(resolve(positionals[0]), `${name}.gguf`) });
  const context = await model.createContext({
    contextSize,
    threads: 1,
    flashAttention: false,
    experimentalKvCacheKeyType: 'F32',
    experimentalKvCacheValueType: 'F32',
  });
  const input = ids.map((id) => [id, { generateNext: { probabilities: true } }]);
  const outcomes = await context.getSequence().controlledEvaluate(input);
  await model.dispose();
  return outcomes.map(({ next: { probabilities } }) =>
    [...probabilities]
      .slice(0, 6) // most likely first
      .map(([id, probability]) => [id, Number(Math.log(probability).toFixed(5))]),
  );
}

const likeliest = {};
for (const [name, context] of files) likeliest[`${name} ${context}`] = await foretold(name, context);
writeFileSync(output, `${JSON.stringify({ by: `node-llama-cpp ${version}`, ids, likeliest })}\n`);
await llama.dispose();
