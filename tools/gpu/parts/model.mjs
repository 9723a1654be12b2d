// One model of subjects.mjs, in a process of its own: node model.mjs NAME FILE. Works, then the times of each op of some steps.
import { performance } from 'node:perf_hooks';
import {
  describeModel,
  kvCacheBytes,
  loadEmbedder,
  loadModel,
  loadSpeechModel,
  openModelFile,
} from '@quern/runtime';
import { owning, withDevice } from './device.mjs';
import { timesOfSteps } from './op-times.mjs';
import { errorText, sendToParent } from './processes.mjs';
import { decode, prefill, sampled } from './sequences.mjs';
import { machineOf, readResults, secondsLeft, small } from './setting.mjs';
import { subjects } from './subjects.mjs';

const { ceilings } = readResults('ceilings') ?? {};
const { copyBandwidth, bf16Rate } = ceilings ?? { copyBandwidth: {}, bf16Rate: {} };

/** Least seconds for a work. */
const minSeconds = 4;

/** One work, unless the time is up. A failure does not end the subject; after one of the device nothing can follow. */
async function measure(work, act) {
  if (secondsLeft() < minSeconds) return sendToParent({ skipped: work });
  sendToParent({ begins: work });
  try {
    sendToParent({ work, ...(await act()) });
  } catch (error) {
    sendToParent({ work, failed: errorText(error) });
    if (error.code === 'DEVICE_FAILED') process.exit(1);
  }
}

/** Bytes that a step reads: the weights once, and the keys and values of each sequence. */
const stepBytes = ({ description, model }, batch, keys) =>
  description.bytesPerToken +
  batch * keys * kvCacheBytes({ ...model.config, dtype: model.plan.cacheDtype }, 1);

const tokens = small ? 2 : 64;

const nameOfDecode = ({ batch = 1, depth = 0, sampled: draws }) =>
  `decode${batch > 1 ? ` × ${batch}` : ''}${depth > 0 ? ` at depth ${depth}` : ''}${draws ? ', sampled' : ''}`;

async function decodeWork(subject, { batch = 1, depth = 0, sampled: draws }) {
  const options = { tokens, batch, depth, ...(draws && { sampling: sampled }) };
  const { milliseconds, javascript } = await decode(subject.model, options, small || depth > 0 ? 1 : 3);
  const bytes = stepBytes(subject, batch, depth + 1.5 * tokens);
  return {
    tokensPerSecond: (1000 * batch) / milliseconds,
    milliseconds,
    javascript,
    bytes,
    share: (1000 * bytes) / milliseconds / copyBandwidth.value,
    of: 'copy bandwidth',
  };
}

/** 2 operations per weight of the layers and token; in attention 4 per element of a query and key. */
function prefillFlops({ config, activeParameters }, tokens) {
  const { vocabulary, width, tied, layers, heads, headDim } = config;
  const ofLayers = activeParameters - vocabulary * width * (tied ? 1 : 2);
  return tokens * (2 * ofLayers + 2 * layers * heads * headDim * (tokens + 1));
}

async function prefillWork({ model, description }, count) {
  const { milliseconds } = await prefill(model, count, small ? 1 : 3);
  const flops = prefillFlops(description, count);
  return {
    tokensPerSecond: (1000 * count) / milliseconds,
    milliseconds,
    flops,
    share: (1000 * flops) / milliseconds / bf16Rate.value,
    of: `bf16 rate (${bf16Rate.by})`,
  };
}

/** { name, act } of a work of a language model. */
const workOf = (subject, work) =>
  work.kind === 'decode'
    ? { name: nameOfDecode(work), act: () => decodeWork(subject, work) }
    : {
        name: `prefill ${work.tokens}${work.chunk ? `, chunks of ${work.chunk}` : ''}`,
        act: () => prefillWork(subject, work.tokens),
      };

/** Tokens of the longest sequence, and sequences, of these works. */
const contextOf = (works) =>
  Math.max(...works.map(({ depth = 0, tokens: count = 0 }) => depth + count)) + 4 * tokens + 8;
const sequencesOf = (works) => Math.max(...works.map(({ batch = 1 }) => batch));

async function runLoad(backend, path, { works, options }) {
  const description = describeModel(await openModelFile(path), backend);
  const sizes = { context: contextOf(works), sequences: sequencesOf(works) };
  const model = await loadModel(path, { backend, prefillChunk: 2048, ...sizes, ...options });
  await owning(model, async () => {
    for (const work of works) {
      const { name, act } = workOf({ model, description }, work);
      await measure(name, act);
    }
  });
}

async function language(backend, path, { loads, steps }) {
  for (const one of loads)
    try {
      await runLoad(backend, path, one);
    } catch (error) {
      sendToParent({ work: 'loading', failed: errorText(error) });
    }
  if (steps.length === 0) return;
  if (secondsLeft() < minSeconds) return sendToParent({ skipped: 'times per op' });
  await timesOfSteps(backend, path, steps, sendToParent);
}

const letters = [...'abcdefghijklmnopqrstuvwxyz'];

/** Texts of `length` tokens, start and end included: every letter is one. */
const textsOf = (count, length, seed) =>
  Array.from({ length: count }, (_, i) =>
    Array.from({ length: length - 2 }, (_, j) => letters[(seed + 7 * i + j * (j + 3)) % 26]).join(' '),
  );

async function embedWork(model, batch, length) {
  const times = [];
  for (let i = 0; i <= (small ? 1 : 5); i++) {
    const texts = textsOf(batch, length, i);
    const from = performance.now();
    const { tokens: count } = await model.embed(texts);
    if (count !== batch * length) throw new Error(`${count} tokens instead of ${batch * length}`);
    if (i > 0) times.push(performance.now() - from);
  }
  const milliseconds = times.sort((a, b) => a - b)[times.length >> 1];
  const { layers, width, feedForward } = model.config;
  const flops = batch * length * layers * (8 * width * width + 4 * width * feedForward + 4 * width * length);
  return {
    tokensPerSecond: (1000 * batch * length) / milliseconds,
    milliseconds,
    share: (1000 * flops) / milliseconds / bf16Rate.value,
    of: `bf16 rate (${bf16Rate.by})`,
  };
}

async function encoder(backend, path) {
  await owning(await loadEmbedder(path, { backend }), async (model) => {
    const length = small ? 8 : 128;
    for (const batch of small ? [2] : [1, 64, 256, 1024])
      await measure(`${batch} texts of ${length}`, () => embedWork(model, batch, length));
  });
}

async function speechWork(model) {
  const { context } = model.config.encoder;
  const sampleRate = 16_000;
  const samples = Float32Array.from(
    { length: (context * sampleRate) / 50 },
    (_, i) => 0.3 * Math.sin(i / 20),
  );
  const times = [];
  for (let i = 0; i <= (small ? 1 : 5); i++) {
    const { stages } = await model.transcribe(
      { sampleRate, samples },
      { language: 'en', temperatures: [0], noSpeechThreshold: 1, maxTokens: 4, ignoreEnd: true },
    ).result;
    if (i > 0) times.push(stages.encodeMs / stages.windows);
  }
  const milliseconds = times.sort((a, b) => a - b)[times.length >> 1];
  return { tokensPerSecond: (1000 * context) / milliseconds, milliseconds };
}

async function speech(backend, path) {
  await owning(await loadSpeechModel(path, { backend }), (model) =>
    measure('one window, encoder', () => speechWork(model)),
  );
}

const [, , name, path] = process.argv;
const subject = subjects.find((one) => one.name === name);
await withDevice(true, async (backend) => {
  sendToParent({ machine: machineOf(backend) });
  try {
    await { language, encoder, speech }[subject.kind](backend, path, subject);
  } catch (error) {
    sendToParent({ work: 'loading', failed: errorText(error) });
  }
});
process.exit();
