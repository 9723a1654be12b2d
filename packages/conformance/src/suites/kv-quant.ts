import {
  type Backend,
  contiguousKvCache,
  coreOps,
  type KvCache,
  type KvDtype,
  kvElements,
  need,
  type QuantKvDtype,
} from '@quern/core';
import { inCache } from '@quern/core/testing';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import type { OpCase } from '../ops/expect.js';
import { fresh } from '../ops/fresh.js';
import { generate } from '../ops/generate.js';
import { coreCase } from '../ops/op-case.js';
import { attend, cacheOptions, tokensFrom } from '../plans/text-cache.js';
import { compare } from '../values/compare.js';
import { refusal } from '../values/refusal.js';
import { fusedCase } from './fused.js';

const suite = 'kvQuant';
const on = fresh(suite);

/** A generated case with caches in another dtype. */
function withCaches(dtype: QuantKvDtype, { name, operands, attributes }: OpCase): OpCase {
  const cache = (which: 'kCache' | 'vCache') => inCache(kvElements[dtype], operands[which]!);
  return {
    name: `${dtype}, ${name}`,
    operands: { ...operands, kCache: cache('kCache'), vCache: cache('vCache') },
    attributes,
  };
}

function opCases(lab: Lab, dtype: QuantKvDtype): Case[] {
  const cases = (op: 'kvAppend' | 'attention' | 'qkNormRopeAppend') =>
    generate(op, lab.seed).map((sample) => withCaches(dtype, sample));
  return [
    ...cases('kvAppend').map((sample) => coreCase(lab, suite, coreOps.kvAppend, sample)),
    ...cases('attention').map((sample) => coreCase(lab, suite, coreOps.attention, sample)),
    ...(lab.support('qkNormRopeAppend')
      ? cases('qkNormRopeAppend').map((sample) => fusedCase(lab, suite, 'qkNormRopeAppend', sample))
      : []),
  ];
}

const context = 70;

/** Decodes a prompt and some later tokens, then releases the cache. */
async function tell(backend: Backend, cache: KvCache): Promise<Float32Array> {
  const sequence = cache.sequence();
  const rows: number[] = [];
  for (const [first, count] of [[0, 60] as const, [60, 1] as const, [61, 1] as const, [62, 4] as const])
    rows.push(...(await attend(backend, cache, [{ sequence, tokens: tokensFrom(first, count) }])));
  cache.dispose();
  return Float32Array.from(rows);
}

const contiguous = (backend: Backend, dtype: KvDtype) =>
  contiguousKvCache(backend, { ...cacheOptions(dtype, context), sequences: 1 });

function same(label: string, got: Float32Array, want: Float32Array, allowed: number): void {
  compare(label, { shape: [got.length], data: got }, { shape: [want.length], data: want }, () => allowed);
}

/**
 * Values have magnitude 1. Relative error of a bf16 element: 2⁻⁹, of an fp8 element: 2⁻⁴. Error of an int8 element: half
 * a step, 1/254 of the head's largest. All affect scores and values.
 */
const nearness = { bf16: 0.02, int8: 0.05, fp8: 0.2 } as const satisfies Record<QuantKvDtype, number>;

const isNear = (dtype: QuantKvDtype): Case =>
  on(`attention over a cache of ${dtype} is near attention over f32`, async (backend) => {
    const want = await tell(backend, contiguous(backend, 'f32'));
    same('rows', await tell(backend, contiguous(backend, dtype)), want, nearness[dtype]);
  });

const pagedIsSame = (dtype: QuantKvDtype, blockSize: number): Case =>
  on(`blocks of ${blockSize} tokens equal a contiguous cache, ${dtype}`, async (backend) => {
    need(backend, 'pagedKv');
    const options = { ...cacheOptions(dtype, context), blockSize, blocks: Math.ceil(context / blockSize) };
    const got = await tell(backend, backend.pagedKv.createCache(options));
    same('rows', got, await tell(backend, contiguous(backend, dtype)), 1e-4);
  });

const isRefused = (dtype: QuantKvDtype): Case =>
  on(`a cache of undeclared ${dtype}`, async (backend) => {
    await refusal('UNSUPPORTED', () => contiguous(backend, dtype));
  });

const all = Object.keys(nearness) as QuantKvDtype[];

/** Caches of every declared dtype against the definitions and against f32. */
export const kvQuant: Suite = (lab) => {
  const dtypes = lab.backend.kvQuant?.dtypes;
  if (!dtypes) return [];
  const [blockSize] = lab.backend.pagedKv?.blockSizes ?? [];
  return all.flatMap((dtype) =>
    dtypes.has(dtype)
      ? [
          ...opCases(lab, dtype),
          isNear(dtype),
          ...(blockSize === undefined ? [] : [pagedIsSame(dtype, blockSize)]),
        ]
      : [isRefused(dtype)],
  );
};
