import {
  type AnyOp,
  cacheRow,
  coreOps,
  type DriverBuffer,
  driverOf,
  dtypeCodes,
  fusedOps,
  type KvSpec,
  kvOf,
  type PlanDriver,
} from '@quern/core';
import type { Case } from '../case.js';
import type { Lab } from '../lab.js';
import { kvSpecOf } from '../ops/bind.js';
import { beyondClaim } from '../ops/claim.js';
import type { OpCase } from '../ops/expect.js';
import { fresh } from '../ops/fresh.js';
import { type OpPlan, opPlan } from '../plans/op-plan.js';
import { needRefused, outcome } from '../plans/outcome.js';
import { withWords } from '../plans/records.js';
import { ensure } from '../values/refusal.js';

/** Indices of an operand's words: id, dtype, then the dimensions. */
const [idWord, dtypeWord, firstDimension] = [1, 4, 6];

/** V caches that are not as the K cache. All but the first are at least as large: a kernel without checks stays in its memory. */
const others: Readonly<Record<string, (spec: KvSpec) => Partial<KvSpec>>> = {
  'one block': () => ({ blocks: 1 }),
  'more blocks': ({ blocks }) => ({ blocks: blocks + 1 }),
  'larger blocks': ({ blockSize }) => ({ blockSize: blockSize + 1 }),
  'as many tokens in other blocks': ({ blocks, blockSize }) => ({
    blocks: blocks * blockSize,
    blockSize: 1,
  }),
  'more heads': ({ heads }) => ({ heads: heads + 1 }),
  'larger heads': ({ headDim }) => ({ headDim: headDim + 1 }),
  'another dtype': ({ dtype }) => ({ dtype: dtype === 'f32' ? 'f16' : 'f32' }),
};

/** The plan with another buffer as its V cache. */
function withCache({ plan, places }: OpPlan, cache: DriverBuffer, spec: KvSpec) {
  const words = plan.words.slice();
  const { at } = places.find(({ name }) => name === 'vCache')!;
  words[at + idWord] = cache.id;
  words[at + dtypeWord] = dtypeCodes[spec.dtype];
  const { blocks, blockSize, heads, headDim, dtype } = spec;
  words.set([blocks, blockSize, heads, cacheRow(dtype, headDim)], at + firstDimension);
  return withWords(plan, words);
}

async function needAlike(driver: PlanDriver, op: AnyOp, given: OpCase): Promise<void> {
  const prepared = await opPlan(driver, op, given);
  const needRuns = async (when: string) => {
    const code = await outcome(driver, prepared.plan, prepared.io, false);
    ensure(code === undefined, `the right plan should run ${when}; got ${code}`);
  };
  await needRuns('at first');
  const own = kvSpecOf(given.operands.vCache!);
  for (const [name, change] of Object.entries(others)) {
    const spec = { ...own, ...change(own) };
    const wrong = withCache(prepared, kvOf(driver).allocate(spec), spec);
    needRefused(await outcome(driver, wrong, prepared.io, false), `a V cache with ${name}`);
  }
  await needRuns('after those that are wrong');
}

/** Each op with a K and a V cache, the V cache of another shape or dtype: the kernels must compare them. */
export function unlikeCaches(lab: Lab, suite: string): readonly Case[] {
  const ops: readonly AnyOp[] = [...Object.values(coreOps), ...Object.values(fusedOps)];
  return ops.flatMap((op) => {
    if (!op.operands.vCache) return [];
    const given = op
      .samples()
      .find(
        ({ operands }) => operands.vCache!.shape[0]! > 1 && !beyondClaim(op, lab.support(op.name), operands),
      );
    if (!given) return [];
    return fresh(suite)(`${op.name}: a V cache unlike the K cache`, (backend) =>
      needAlike(driverOf(backend) as PlanDriver, op, given),
    );
  });
}
