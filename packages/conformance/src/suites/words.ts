import {
  type Driver,
  type DriverWeight,
  driverOf,
  type EncodedPlan,
  kvOf,
  type PlanDriver,
} from '@quern/core';
import type { Case, Suite } from '../case.js';
import { fresh } from '../ops/fresh.js';
import { appendedCache, appendPlan, ioOf, opAt, operandAt, productPlan } from '../plans/hand-written.js';
import { needRefused, outcome } from '../plans/outcome.js';
import { withWords } from '../plans/records.js';
import { bytesOf } from '../values/numbers.js';
import { ensure } from '../values/refusal.js';
import { unlikeCaches } from './words-caches.js';
import { reshapedOperands } from './words-reshaped.js';

const suite = 'words';
const on = fresh(suite);

type Change = (words: Int32Array, plan: EncodedPlan) => Int32Array | undefined;

/** Replaces one word. */
const set =
  (at: number | ((plan: EncodedPlan) => number), value: number): Change =>
  (words, plan) => {
    words[typeof at === 'number' ? at : at(plan)] = value;
    return undefined;
  };

const inOp = (op: number, word: number, value: number): Change =>
  set(({ words }) => opAt(words, op) + word, value);

const inOperand = (op: number, operand: number, word: number, value: number): Change =>
  set((plan) => operandAt(plan, op, operand, word), value);

/** Word indices in the header. */
const [magic, version, ops, arenaHigh, inputsLow, outputsLow] = [0, 1, 2, 5, 6, 8];
/** Word indices in an operand. */
const [region, id, offsetLow, offsetHigh, dtype, rank, d0, d1] = [0, 1, 2, 3, 4, 5, 6, 7];
/** Operands of linear: x, w, bias, y. */
const [x, w, y] = [0, 1, 3];

/** An arena of offsets that nobody allocates may have any size. */
const needsArena = 'an arena larger than memory';

/** One change each to the plan silu(x · wᵀ), x [3, 4], w [2, 4]. */
const broken: Readonly<Record<string, Change>> = {
  'no words at all': () => new Int32Array(0),
  'another magic number': set(magic, 7),
  'another version': set(version, 99),
  'more ops than records': set(ops, 3),
  'fewer ops than records': set(ops, 1),
  'a negative number of ops': set(ops, -1),
  'words cut short': (words) => words.slice(0, -1),
  'more inputs than the host has': set(inputsLow, 2 ** 20),
  'more outputs than the host has': set(outputsLow, 2 ** 20),
  [needsArena]: set(arenaHigh, 2 ** 20),
  'an unknown op': inOp(0, 0, 4711),
  'a record that is too short': inOp(0, 1, 3),
  'a record beyond the last word': inOp(1, 1, 4000),
  'too many attributes': inOp(0, 2, 2),
  'too few attributes': inOp(0, 2, 0),
  'too few operands': inOp(0, 3, 3),
  'a missing operand': inOperand(0, x, region, 0),
  'an unknown region': inOperand(0, x, region, 17),
  'an operand past the end of its region': inOperand(0, x, offsetLow, 64),
  'a negative offset': inOperand(0, x, offsetHigh, -1),
  'an offset that is not aligned': inOperand(0, x, offsetLow, 1),
  'an unknown dtype': inOperand(0, x, dtype, 42),
  'a dtype that the op does not take': inOperand(0, x, dtype, 3),
  'too many dimensions': inOperand(0, x, rank, 5),
  'a negative dimension': inOperand(0, x, d0, -1),
  'a dimension that overflows': inOperand(0, x, d0, 0x7fffffff),
  'shapes that do not fit each other': inOperand(0, x, d1, 3),
  'an unknown weight': inOperand(0, w, id, 999_999),
  'a weight of another shape': inOperand(0, w, d0, 1),
  'an output of another shape': inOperand(0, y, d1, 3),
  'an output among the inputs': inOperand(0, y, region, 2),
  'an output past the end of its region': inOperand(1, 1, offsetLow, 60),
  'an output over an operand': inOperand(1, 1, region, 1),
};

async function needRuns(driver: PlanDriver, plan: EncodedPlan): Promise<void> {
  const io = ioOf(driver, 1, 12);
  const code = await outcome(driver, plan, io, false);
  const got = new Float32Array(io.outputs)[0]!;
  const want = 4 / (1 + Math.exp(-4)); // silu of the product of a row of four ones with itself
  ensure(
    code === undefined && Math.abs(got - want) < 1e-4,
    `the right plan should give ${want}; got ${code ?? got}`,
  );
}

async function loadOnes({ loadWeight }: PlanDriver): Promise<DriverWeight> {
  const bytes = bytesOf(new Float32Array(8).fill(1));
  return loadWeight({ name: 'w', shape: [2, 4], format: 'f32', bytes });
}

const changed = (plan: EncodedPlan, change: Change): EncodedPlan => {
  const words = plan.words.slice();
  return withWords(plan, change(words, plan) ?? words);
};

const isPlanDriver = (driver: Driver): driver is PlanDriver => 'executor' in driver;

const refused = (name: string, change: Change): Case =>
  on(name, async (backend) => {
    const driver = driverOf(backend) as PlanDriver;
    const right = productPlan(await loadOnes(driver));
    await needRuns(driver, right);
    const wrong = changed(right, change);
    needRefused(await outcome(driver, wrong, ioOf(driver, 1, 12), false), 'execute');
    if (backend.graph)
      needRefused(await outcome(driver, wrong, ioOf(driver, 1, 12), true), 'capture and replay');
    await needRuns(driver, right);
  });

const buffers: readonly Case[] = [
  on('an unknown buffer', async (backend) => {
    const driver = driverOf(backend) as PlanDriver;
    const plan = appendPlan(kvOf(driver).allocate(appendedCache), kvOf(driver).allocate(appendedCache));
    ensure(
      (await outcome(driver, plan, ioOf(driver, 1, 4), false)) === undefined,
      'the right plan should run',
    );
    const unknown = changed(plan, inOperand(0, 3, id, 999_999));
    needRefused(await outcome(driver, unknown, ioOf(driver, 1, 4), false), 'execute');
    const larger = changed(plan, inOperand(0, 4, d0, 2));
    needRefused(await outcome(driver, larger, ioOf(driver, 1, 4), false), 'a shape larger than its buffer');
  }),
  on('a freed buffer', async (backend) => {
    const driver = driverOf(backend) as PlanDriver;
    const values = kvOf(driver).allocate(appendedCache);
    const cache = kvOf(driver).allocate(appendedCache);
    driver.memory.free(cache);
    needRefused(await outcome(driver, appendPlan(cache, values), ioOf(driver, 1, 4), false), 'execute');
  }),
  on('a freed weight', async (backend) => {
    const driver = driverOf(backend) as PlanDriver;
    const weight = await loadOnes(driver);
    driver.freeWeight(weight);
    needRefused(await outcome(driver, productPlan(weight), ioOf(driver, 1, 12), false), 'execute');
  }),
];

/** A plan driver must check every word: a wrong word is an error, never a crash. */
export const words: Suite = (lab) =>
  isPlanDriver(lab.driver)
    ? [
        ...Object.entries(broken).flatMap(([name, change]) =>
          name === needsArena && lab.driver.profile.placing === 'driver' ? [] : [refused(name, change)],
        ),
        ...buffers,
        ...reshapedOperands(lab, suite),
        ...unlikeCaches(lab, suite),
      ]
    : [{ suite, name: 'plans', notSupported: 'the driver is a table of kernels: core reads plans for it' }];
