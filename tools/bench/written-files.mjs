// Opens files written by `quern quantize` with node-llama-cpp: tokens of texts and greedy tokens must agree.
//   node written-files.mjs [--peer node_modules] [--tokens 48]
// The model is the trained demo model, so small numerical differences decide nothing. Variants: from GGUF, widened so
// that its rows are blocks of every format; and from a Hugging Face folder, converted. Qwen's and the encoders have
// random weights. Engines round activations differently, llama.cpp in blocks of 256. If greedy tokens differ, the truth
// decides: the same file on backend-reference, which rounds no activations. Quern's token must be the truth's, and its
// log-probabilities closer to the truth's than the peer's. Embeddings must have a cosine of at least 0.999 to the
// peer's.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createBackend as createReference } from '../../packages/backend-reference/dist/index.js';
import { qwen2, qwen3 } from '../../packages/models/dist/index.js';
import { loadEmbedder, loadModel, mixes } from '../../packages/runtime/dist/index.js';
import { writeDemoFiles } from '../../packages/runtime/test/model/accuracy/demo-files.mjs';
import { writeDemoFolder, writeRandomFolder } from '../../packages/runtime/test/quantize/demo-folder.mjs';
import { encoderKinds, writeEncoderFolder } from '../../packages/runtime/test/quantize/encoder-folder.mjs';

const { values: options } = parseArgs({
  options: { peer: { type: 'string', default: 'node_modules' }, tokens: { type: 'string', default: '48' } },
});
const tokens = Number(options.tokens);
const cli = fileURLToPath(new URL('../../packages/cli/', import.meta.url));
const expected = JSON.parse(
  readFileSync(new URL('../../packages/demo-model/model/expected.json', import.meta.url), 'utf8'),
);

/** The built `quern` command. */
function quantize(model, output, format) {
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(cli, 'dist/cli.js'), 'quantize', model, output, format],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`quern quantize failed: ${stderr}`);
}

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

/** The peer's log-probabilities of the next token; tokens of probability 0 are omitted. */
async function peerLogProbabilities(llama, path, ids) {
  const model = await llama.loadModel({ modelPath: path });
  const context = await model.createContext({ contextSize: 256, threads: 1 });
  const input = ids.map((id, i) =>
    i + 1 < ids.length ? id : [id, { generateNext: { probabilities: true } }],
  );
  const outcomes = await context.getSequence().controlledEvaluate(input);
  await model.dispose();
  return new Map([...outcomes.at(-1).next.probabilities].map(([id, p]) => [id, Math.log(p)]));
}

const logSoftmax = (logits) => {
  const largest = Math.max(...logits);
  const sum = logits.reduce((total, x) => total + Math.exp(x - largest), 0);
  return Float64Array.from(logits, (x) => x - largest - Math.log(sum));
};

/** Log-probabilities without rounding of activations. */
async function truth(path, ids) {
  const backend = await createReference();
  const model = await loadModel(path, { backend, context: 256, resolveFrom: cli });
  const logits = (await model.logits(ids)).at(-1);
  model.dispose();
  backend.dispose();
  return logSoftmax(logits);
}

/** Root mean square difference, in nats, over the tokens that are likely in the truth. */
function offBy(values, wanted) {
  const likely = [...wanted.keys()].filter((id) => wanted[id] > Math.log(1e-3));
  const squares = likely.map((id) => (values(id) - wanted[id]) ** 2);
  return Math.sqrt(squares.reduce((sum, x) => sum + x, 0) / likely.length);
}

/** Decides which engine is right at their first difference. */
async function settle(llama, path, { model, ids, greedy }, theirs, first) {
  const before = [...ids, ...greedy.slice(0, first)];
  const [wanted, peer] = [await truth(path, before), await peerLogProbabilities(llama, path, before)];
  const ours = logSoftmax((await model.logits(before)).at(-1));
  const likelier = wanted[greedy[first]] - wanted[theirs.greedy[first]];
  const [off, peerOff] = [offBy((id) => ours[id], wanted), offBy((id) => peer.get(id) ?? -30, wanted)];
  const text =
    `the first ${first}; then in truth Quern's is likelier by ${likelier.toFixed(3)} nats ` +
    `(off by ${off.toFixed(3)} nats, llama.cpp by ${peerOff.toFixed(3)})`;
  return { right: likelier > 0 && off <= peerOff, text };
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
  ['folder of a random Qwen3', ofQwen3, ['f32', 'f16']],
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
    const sameIds = same(ours.ids, theirs.ids);
    const first = ours.greedy.findIndex((id, i) => id !== theirs.greedy[i]);
    const { right, text } =
      first < 0 ? { right: true, text: 'all' } : await settle(llama, path, ours, theirs, first);
    ours.model.dispose();
    rmSync(path);
    console.log(`| ${from} | ${format} | ${sameIds ? 'yes' : 'NO'} | ${text} |`);
    if (!sameIds || !right) failed++;
  }

const texts = ['The cat sat on a mat.', 'playing, walked & played!', 'naïve 狐 42', 'x9 the mat '.repeat(8)];

async function quernEmbeds(path) {
  const model = await loadEmbedder(path, { backend: 'cpu', threads: 1, resolveFrom: cli });
  const vectors = [];
  for (const text of texts) vectors.push((await model.embed([text])).values);
  model.dispose();
  return vectors;
}

async function peerEmbeds(llama, path) {
  const model = await llama.loadModel({ modelPath: path });
  const context = await model.createEmbeddingContext({ contextSize: 60, threads: 1 });
  const vectors = [];
  for (const text of texts) {
    const ids = model.tokenize(text);
    const { bos, shouldPrependBosToken } = model.tokens; // node-llama-cpp omits bos for Unigram
    if (shouldPrependBosToken && ids[0] !== bos) ids.unshift(bos);
    vectors.push((await context.getEmbeddingFor(ids)).vector);
  }
  await model.dispose();
  return vectors;
}

function cosine(a, b) {
  let [dot, aa, bb] = [0, 0, 0];
  for (const [i, x] of a.entries()) [dot, aa, bb] = [dot + x * b[i], aa + x * x, bb + b[i] * b[i]];
  return dot / Math.sqrt(aa * bb);
}

console.log('\n| encoder, random weights | format | least cosine of 4 texts |\n| --- | --- | --- |');
for (const kind of Object.keys(encoderKinds).filter((name) => name !== 'cross-encoder'))
  for (const format of ['f32', 'f16', 'q8_0', 'int8']) {
    const [from, path] = [join(folder, kind), join(folder, `${kind}-${format}.gguf`)];
    mkdirSync(from, { recursive: true });
    writeEncoderFolder(from, kind);
    quantize(from, path, format);
    const [ours, theirs] = [await quernEmbeds(path), await peerEmbeds(llama, path)];
    const least = Math.min(...ours.map((vector, i) => cosine(vector, theirs[i])));
    console.log(`| ${kind} | ${format} | ${least.toFixed(5)} |`);
    if (!(least >= 0.999)) failed++;
  }

for (const used of [folder, ofQwen2, ofQwen3]) rmSync(used, { recursive: true });
rmSync(made.folder, { recursive: true });
console.log(
  failed
    ? `\nFAIL  ${failed} files differ`
    : '\nPASS  every file loads, and the engines agree, or Quern is the nearer to the truth',
);
process.exit(failed ? 1 : 0);
