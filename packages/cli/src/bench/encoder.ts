import {
  type Backend,
  type DeviceCeilings,
  describeFile,
  type Embedder,
  type Embeddings,
  loadEmbedder,
} from '@quern/runtime';
import { type Check, compareWithPlainer } from './check.js';
import { BenchError } from './error.js';
import { figuresOf, type RunFigures, type RunOptions, runOf, type WorkFigures } from './run.js';
import { fastestFor, type Share } from './shares.js';
import { median } from './statistics.js';
import type { EmbedWork, WorkFlags } from './works.js';

/** Every text length in every batch size. */
export const embedWorksOf = ({ prompt, batch }: WorkFlags): EmbedWork[] =>
  batch.flatMap((texts) => prompt.map((tokens): EmbedWork => ({ kind: 'embed', tokens, batch: texts })));

const letters = [...'abcdefghijklmnopqrstuvwxyz0123456789'];

/** Texts of `tokens` tokens each; every letter is one token. */
function someTexts({ tokenizer }: Embedder, { tokens, batch }: EmbedWork, seed: number): string[] {
  const lengthOf = (text: string) => tokenizer.encode(text).length;
  const ends = lengthOf('a a') - 2; // tokens of start and end
  const words = letters.filter((letter) => lengthOf(`${letter} ${letter}`) === ends + 2);
  const text = (i: number) =>
    Array.from({ length: tokens - ends }, (_, j) => words[(seed + 7 * i + j * (j + 3)) % words.length]).join(
      ' ',
    );
  return Array.from({ length: batch }, (_, i) => text(i));
}

async function embed(
  model: Embedder,
  work: EmbedWork,
  seed: number,
  signal: AbortSignal,
): Promise<Embeddings> {
  const embeddings = await model.embed(someTexts(model, work, seed), { signal, truncate: true });
  const asked = work.batch * work.tokens;
  if (embeddings.tokens === asked && embeddings.truncated === 0) return embeddings;
  throw new BenchError(
    'WRONG_WORK',
    `${model.path}: asked for ${work.batch} texts of ${work.tokens} tokens, start and end included; got ${embeddings.tokens} tokens, and ${embeddings.truncated} texts were cut off: it takes 3 to ${model.maxTokens}`,
  );
}

/** The embeddings of two texts, alone and in one batch. */
async function checkedVectors(model: Embedder, signal: AbortSignal): Promise<Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (const batch of [1, 2])
    vectors.push((await embed(model, { kind: 'embed', tokens: 8, batch }, 0, signal)).values);
  return vectors;
}

const check = (model: Embedder, backend: Backend, signal: AbortSignal): Promise<Check | undefined> =>
  compareWithPlainer(backend, model.path, 'embeddings', {
    got: () => checkedVectors(model, signal),
    expected: async (plainer) => {
      using plain = await loadEmbedder(model.path, { backend: plainer, signal });
      return await checkedVectors(plain, signal);
    },
  });

/** Operations: 2 per weight of the layers; in attention 2 per element of every key and value. */
function shareOf(
  { config: { layers, width, feedForward } }: Embedder,
  format: string,
  { tokens, batch }: EmbedWork,
  ceilings: DeviceCeilings,
  milliseconds: number,
): Share {
  const perToken = 2 * (4 * width * width + 2 * width * feedForward) + 4 * width * tokens;
  const [of, rate] = fastestFor(format, ceilings);
  return { share: (1000 * batch * tokens * layers * perToken) / milliseconds / rate, of };
}

async function measureWork(
  model: Embedder,
  work: EmbedWork,
  { repeat, signal }: RunOptions,
): Promise<number[]> {
  await embed(model, work, 0, signal); // warms up
  const times: number[] = [];
  while (times.length < repeat) {
    const start = performance.now();
    await embed(model, work, times.length + 1, signal);
    times.push(performance.now() - start);
  }
  return times;
}

/** Loads an encoder on a backend, checks its output, times embeddings. Rejects with the signal's reason. */
export async function measureEncoder(
  path: string,
  backend: Backend,
  ceilings: DeviceCeilings | undefined,
  options: RunOptions,
): Promise<RunFigures> {
  const { mmap, signal, onWork } = options;
  using model = await loadEmbedder(path, { backend, mmap, signal });
  const residentBytes = process.memoryUsage.rss();
  const checked = options.check ? await check(model, backend, signal) : undefined;
  const { formats } = await describeFile(path);
  const works: WorkFigures[] = [];
  for (const work of embedWorksOf(options.flags)) {
    onWork(work);
    const times = await measureWork(model, work, options);
    const share = ceilings && shareOf(model, formats[0]!.format, work, ceilings, median(times));
    works.push(figuresOf(work, times, share));
  }
  return runOf(backend, { model, residentBytes }, checked, works);
}
