import {
  type Backend,
  contiguousKvCache,
  denseFormats,
  inputBatch,
  type Tensor,
  type Weight,
} from '@quern/core';
import { as, normal } from '@quern/core/testing';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { loadOperand } from '../ops/bind.js';
import { fresh } from '../ops/fresh.js';
import type { Operand } from '../values/numbers.js';
import { randomWeight } from '../values/random-weight.js';

const suite = 'rows';
const on = fresh(suite);

/** Rows of a batch: more than any kernel for few rows takes. */
const many = 70;
const [N, K] = [24, 272];

/** Maximum rows to test: a driver may promise more than a test has time for. */
const exactRowsOf = ({ profile: { exactRows = 1 } }: Backend): number => Math.min(exactRows, 24);

/** Matrices [N, K] in every claimed format of `linear` with known values. */
function matrices(lab: Lab): readonly ((seed: number) => Operand)[] {
  const claimed = lab.backend.quantGguf?.formats;
  const codecs = (lab.options.codecs ?? []).filter(({ format }) => claimed?.has(format));
  return [
    ...denseFormats.map((format) => (seed: number) => as(format, normal(seed, [N, K], 0.1))),
    ...codecs.map(
      (codec) => (seed: number) => randomWeight(codec, seed, [N], Math.ceil(256 / codec.blockSize)),
    ),
  ];
}

type Forward = (backend: Backend, x: Tensor, weights: readonly Weight[], batchInvariant: boolean) => Tensor;

/** Products as in models: core fuses those that the driver claims. */
const forwards: Readonly<Record<string, Forward>> = {
  linear: (b, x, [w], batchInvariant) => b.linear(x, w!, { batchInvariant }),
  'linear and gelu': (b, x, [w, , , bias], batchInvariant) =>
    b.gelu(b.linear(x, w!, { bias, batchInvariant })),
  'gate, up and swiglu': (b, x, [gate, up], batchInvariant) =>
    b.swiglu(b.linear(x, gate!, { batchInvariant }), b.linear(x, up!, { batchInvariant })),
  'three projections': (b, x, weights, batchInvariant) => {
    const [q, k, v] = weights.slice(0, 3).map((w) => b.linear(x, w, { batchInvariant }));
    return b.add(b.add(q!, k!), v!);
  },
};

const bitsOf = ({ buffer, byteOffset, byteLength }: Float32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Rows [first, first + count) of the T rows of `all` must have the bits of `some`. */
function needSame(all: Float32Array, some: Float32Array, first: number, count: number, T: number): void {
  const width = all.length / T;
  const among = all.subarray(first * width, (first + count) * width);
  if (!bitsOf(among).equals(bitsOf(some)))
    throw new Error(
      `rows ${first} to ${first + count} of ${T} have other bits than ${count === 1 ? 'the row' : `these ${count}`} alone`,
    );
}

/** Ranges of the given sizes among T rows. */
const pieces = (T: number, sizes: readonly number[]) =>
  sizes.filter((size) => size < T).flatMap((count) => [0, T - count].map((first) => ({ first, count })));

/** T rows of x with weights of one format, in one step and in pieces: the same bits. */
async function alike(
  backend: Backend,
  forward: Forward,
  matrix: (seed: number) => Operand,
  [T, sizes, batchInvariant]: readonly [number, readonly number[], boolean],
): Promise<void> {
  const operands = [matrix(1), matrix(2), matrix(3), normal(4, [N])];
  const weights: Weight[] = [];
  for (const [i, operand] of operands.entries()) weights.push(await loadOperand(backend, `w${i}`, operand));
  const width = operands[0]!.shape[1]!;
  const x = Float32Array.from(normal(5, [T, width]).values);
  const run = async (first: number, count: number) => {
    using step = backend.step();
    const rows = step.input(x.slice(first * width, (first + count) * width), [count, width]);
    const y = forward(backend, rows, weights, batchInvariant);
    await step.run();
    return ((await step.read(y)) as Float32Array).slice();
  };
  const all = await run(0, T);
  for (const { first, count } of pieces(T, sizes)) needSame(all, await run(first, count), first, count, T);
}

const products = (lab: Lab, name: string, forward: Forward, matrix: (seed: number) => Operand): Case[] => {
  const { format } = matrix(1);
  const exact = exactRowsOf(lab.backend);
  return [
    on(`${name}, batchInvariant, ${format}`, (backend) =>
      alike(backend, forward, matrix, [many, [1, 16, 17, 33], true]),
    ),
    ...(exact > 1
      ? [
          on(`${name}, ${exact} exact rows, ${format}`, (backend) =>
            alike(backend, forward, matrix, [exact, [1, 2, exact - 1], false]),
          ),
        ]
      : []),
  ];
};

const config = { heads: 4, kvHeads: 2, headDim: 16, scale: 0.3, causal: true };

/** Attention of the last `rows` tokens of a sequence, in one step or in steps of `size` rows: [rows, H · d]. */
async function attended(backend: Backend, before: number, rows: number, size: number): Promise<Float32Array> {
  const { heads, kvHeads, headDim } = config;
  const context = before + rows;
  const layout = { layers: 1, kvHeads, headDim, dtype: 'f16' } as const;
  const cache = contiguousKvCache(backend, { ...layout, context, sequences: 1 });
  const values = (seed: number, count: number) =>
    Float32Array.from(normal(seed, [context, count, headDim]).values);
  const [q, k, v] = [values(6, heads), values(7, kvHeads), values(8, kvHeads)] as const;
  const sequence = cache.sequence();
  const parts: number[] = [];
  const append = async (first: number, count: number, asked: boolean) => {
    sequence.append(count);
    using step = backend.step();
    const batch = inputBatch(step, cache.describe([{ sequence, rows: count }]));
    const some = (of: Float32Array, H: number) =>
      step.input(of.slice(first * H * headDim, (first + count) * H * headDim), [count, H, headDim]);
    backend.kvAppend(cache.layer(0), some(k, kvHeads), some(v, kvHeads), batch.slots);
    if (!asked) return await step.run();
    const y = backend.attention(some(q, heads), cache.layer(0), batch, config);
    await step.run();
    parts.push(...((await step.read(y)) as Float32Array));
  };
  if (before > 0) await append(0, before, false);
  for (let at = before; at < context; at += size) await append(at, Math.min(size, context - at), true);
  cache.dispose();
  return Float32Array.from(parts);
}

const attention = (rows: number, before: number): Case =>
  on(`attention, ${rows} exact rows after ${before} tokens`, async (backend) => {
    const all = await attended(backend, before, rows, rows);
    needSame(all, await attended(backend, before, rows, 1), 0, rows, rows);
  });

/** Rows with the same bits as alone: up to `profile.exactRows` rows, and all rows of batchInvariant products. */
export const rows: Suite = (lab) => {
  const exact = exactRowsOf(lab.backend);
  return [
    ...Object.entries(forwards).flatMap(([name, forward]) =>
      matrices(lab).flatMap((matrix) => products(lab, name, forward, matrix)),
    ),
    ...(exact > 1
      ? [0, 250].map((before) => attention(exact, before))
      : [{ suite, name: 'exact rows', notSupported: 'the driver declares no profile.exactRows above 1' }]),
  ];
};
