import { compareRows } from '@quern/conformance';
import { type Backend, loadEmbedder } from '@quern/runtime';
import type { Comparison } from './language.js';
import type { VerifyContext } from './load.js';

const texts = [
  'The mill by the river grinds slowly.',
  'flour',
  'In winter the wheel stands still; then the miller reads, mends his tools, and writes letters.',
  'A hand mill has two stones, and the upper one can be changed.',
];

/** The embeddings of texts, [D] each: in one batch, or one by one. */
export async function embedAll(
  { path, signal, onNotice }: VerifyContext,
  backend: Backend,
  together: boolean,
): Promise<Float32Array[]> {
  using model = await loadEmbedder(path, { backend, signal, onNotice });
  const rows: Float32Array[] = [];
  for (const part of together ? [texts] : texts.map((text) => [text])) {
    const { values, dimensions } = await model.embed(part, { signal, truncate: true });
    part.forEach((_, i) => rows.push(values.slice(i * dimensions, (i + 1) * dimensions)));
  }
  return rows;
}

/** Compares an encoder on a backend with the reference. */
export async function verifyEncoder(
  context: VerifyContext,
  tested: Backend,
  reference: Backend,
): Promise<readonly Comparison[]> {
  const want = await embedAll(context, reference, true);
  return [
    { way: 'texts together', ...compareRows(await embedAll(context, tested, true), want) },
    { way: 'texts one by one', ...compareRows(await embedAll(context, tested, false), want) },
  ];
}
