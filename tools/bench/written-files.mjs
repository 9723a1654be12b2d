// Files that `quern quantize` writes, opened by node-llama-cpp: the tokenizers must agree, and so must the greedy tokens.
//   node written-files.mjs [--peer node_modules] [--tokens 48]
// The model is the demo's, whose text is trained, so that small differences between two engines decide nothing: from GGUF,
// widened so that its rows are blocks of every format; and from a Hugging Face folder, converted on the way. (Qwen's have
// random weights, and so only f32: to them a rounding is a coin toss.) Engines round activations differently, llama.cpp in
// blocks of 256: where they part, both tokens must be about as likely to Quern.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { qwen2, qwen3 } from '../../packages/models/dist/index.js';
import { loadModel, mixes } from '../../packages/runtime/dist/index.js';
import { writeDemoFiles } from '../../packages/runtime/test/model/accuracy/demo-files.mjs';
import { writeDemoFolder, writeRandomFolder } from '../../packages/runtime/test/quantize/demo-folder.mjs';

const { values: options } = parseArgs({
  options: { peer: { type: 'string', default: 'node_modules' }, tokens: { type: 'string', default: '48' } },
});
const tokens = Number(options.tokens);
const cli = fileURLToPath(new URL('../../packages/cli/', import.meta.url));
const expected = JSON.parse(
  readFileSync(new URL('../../packages/demo-model/model/expected.json', import.meta.url), 'utf8'),
);

/** The command that users have. */
function quantize(model, output, format) {
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(cli, 'dist/cli.js'), 'quantize', model, output, format],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`quern quantize failed: ${stderr}`);
}

/** Nats between two tokens that count as about as likely. */
const tie = 0.1;

async function quernSays(path) {
  const model = await loadModel(path, { backend: 'cpu', threads: 1, resolveFrom: cli });
  const ids = model.tokenize(expected.prompt);
  const { result } = model.generate(ids, { maxTokens: tokens, temperature: 0, ignoreEos: true });
  const { tokens: greedy } = await result;
  return { model, ids, greedy: [...greedy] };
}

async function peerSays(llama, path) {
  const model = await llama.loadModel({ modelPath: path });
  const text = model.tokenize(expected.prompt);
  const ids = model.tokens.shouldPrependBosToken ? [model.tokens.bos, ...text] : [...text];
  const context = await model.createContext({ contextSize: 256, threads: 1 });
  const greedy = [];
  for await (const token of context.getSequence().evaluate(ids, { temperature: 0, yieldEogToken: true })) {
    greedy.push(token);
    if (greedy.length === tokens) break;
  }
  await model.dispose();
  return { ids, greedy };
}

/** By how much Quern finds its own token likelier than the peer's, where they first differ. */
async function gap({ model, ids, greedy }, theirs, first) {
  const logits = (await model.logits([...ids, ...greedy.slice(0, first)])).at(-1);
  return logits[greedy[first]] - logits[theirs.greedy[first]];
}

const same = (a, b) => a.length === b.length && a.every((id, i) => id === b[i]);
const newFolder = () => mkdtempSync(join(tmpdir(), 'quern-written-'));
const [folder, ofQwen2, ofQwen3] = [newFolder(), newFolder(), newFolder()];
const made = await writeDemoFiles('f32', true);
await writeDemoFolder(folder);
await writeRandomFolder(ofQwen2, qwen2);
await writeRandomFolder(ofQwen3, qwen3);
const sources = [
  ['GGUF', made.encoded, Object.keys(mixes)],
  ['Hugging Face folder', folder, ['f32', 'f16', 'bf16', 'q8_0', 'q5_1', 'q4_0']],
  ['folder of a random Qwen2', ofQwen2, ['f32']],
  ['folder of a random Qwen3', ofQwen3, ['f32']],
];
const { getLlama, LlamaLogLevel } = await import(
  pathToFileURL(join(resolve(options.peer), 'node-llama-cpp/dist/index.js')).href
);
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.error });
let failed = 0;
console.log(`node-llama-cpp's llama.cpp ${llama.llamaCppRelease.release}; ${tokens} greedy tokens\n`);
console.log(
  '| from | format | same token ids of the prompt | same greedy tokens |\n| --- | --- | --- | --- |',
);
for (const [from, source, formats] of sources)
  for (const format of formats) {
    const path = join(folder, `${format}.gguf`);
    quantize(source, path, format);
    const [ours, theirs] = [await quernSays(path), await peerSays(llama, path)];
    rmSync(path);
    const sameIds = same(ours.ids, theirs.ids);
    const first = ours.greedy.findIndex((id, i) => id !== theirs.greedy[i]);
    const nats = first < 0 ? 0 : await gap(ours, theirs, first);
    ours.model.dispose();
    const agree = first < 0 ? 'all' : `the first ${first}; then two that are ${nats.toFixed(3)} nats apart`;
    console.log(`| ${from} | ${format} | ${sameIds ? 'yes' : 'NO'} | ${agree} |`);
    if (!sameIds || nats > tie) failed++;
  }
for (const used of [folder, ofQwen2, ofQwen3]) rmSync(used, { recursive: true });
rmSync(made.folder, { recursive: true });
console.log(failed ? `\nFAIL  ${failed} files differ` : '\nPASS  every file loads, and the engines agree');
process.exit(failed ? 1 : 0);
