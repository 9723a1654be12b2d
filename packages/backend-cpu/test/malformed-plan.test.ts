// Any words in a plan: the worst result is an error.
import { type AnyOp, headerWords, operandWords, type PlanDriver, type Sample } from '@quern/core';
import { random } from '@quern/core/testing';
import { cpuDriver } from '../src/index.js';
import { allOps, prepare, type SingleOp } from './single-op.js';

let driver: PlanDriver;
beforeAll(async () => {
  driver = await cpuDriver({ threads: 2 });
});
afterAll(() => driver.dispose());

const linear = () => prepare(driver, allOps.linear!, allOps.linear!.samples()[0]!);

/** Runs the plan with some of its words changed. */
function runChanged(
  { plan, io }: SingleOp,
  change: (words: Int32Array) => Int32Array | undefined,
): Promise<void> {
  const words = plan.words.slice();
  return driver.executor.execute({ ...plan, words: change(words) ?? words }, io);
}

const set = (at: number, value: number) => (words: Int32Array) => {
  words[at] = value;
  return undefined;
};

/** Index of a word of an operand of the first op, after the op's four words and its attributes (linear: one). */
const operand = (index: number, word: number, attributes = 1) =>
  headerWords + 4 + attributes + index * operandWords + word;

test.each([
  ['no words at all', () => new Int32Array(0), 'BAD_ARGUMENT'],
  ['another magic number', set(0, 7), 'BAD_ARGUMENT'],
  ['another version', set(1, 99), 'BAD_ARGUMENT'],
  ['more ops than there are', set(2, 2), 'BAD_ARGUMENT'],
  ['fewer ops than there are', set(2, 0), 'BAD_ARGUMENT'],
  ['a negative number of ops', set(2, -1), 'BAD_ARGUMENT'],
  ['cut short', (words: Int32Array) => words.slice(0, -1), 'BAD_ARGUMENT'],
  ['more inputs than were given', set(6, 1 << 20), 'BAD_ARGUMENT'],
  ['more outputs than were given', set(8, 1 << 20), 'BAD_ARGUMENT'],
  ['an arena larger than memory', set(5, 1 << 20), 'OUT_OF_MEMORY'],
  ['an unknown op', set(headerWords, 4711), 'UNSUPPORTED'],
  ['an op record of another length', set(headerWords + 1, 3), 'BAD_ARGUMENT'],
  ['too many attributes', set(headerWords + 2, 2), 'BAD_ARGUMENT'],
  ['too few attributes', set(headerWords + 2, 0), 'BAD_ARGUMENT'],
  ['too few operands', set(headerWords + 3, 3), 'BAD_ARGUMENT'],
  ['an operand that is missing', set(operand(0, 0), 0), 'BAD_ARGUMENT'],
  ['an unknown region', set(operand(0, 0), 17), 'BAD_ARGUMENT'],
  ['an offset past its region', set(operand(0, 2), 64), 'BAD_ARGUMENT'],
  ['a negative offset', set(operand(0, 3), -1), 'BAD_ARGUMENT'],
  ['an offset that is not aligned', set(operand(0, 2), 1), 'BAD_ARGUMENT'],
  ['an unknown dtype', set(operand(0, 4), 42), 'BAD_ARGUMENT'],
  ['a dtype the op does not take', set(operand(0, 4), 3), 'BAD_ARGUMENT'],
  ['a rank too large', set(operand(0, 5), 5), 'BAD_ARGUMENT'],
  ['a negative dimension', set(operand(0, 6), -1), 'BAD_ARGUMENT'],
  ['a shape that overflows', set(operand(0, 6), 0x7fffffff), 'BAD_ARGUMENT'],
  ['shapes that do not fit each other', set(operand(0, 7), 63), 'BAD_ARGUMENT'],
  ['an unknown weight', set(operand(1, 1), 999), 'BAD_ARGUMENT'],
  ['a weight of another shape', set(operand(1, 6), 31), 'BAD_ARGUMENT'],
  ['an output among the inputs', set(operand(3, 0), 2), 'BAD_ARGUMENT'],
])('%s', async (_name, change, code) => {
  await expect(runChanged(await linear(), change)).rejects.toMatchObject({ name: 'BackendError', code });
});

test('an output over an operand', async () => {
  const x = { shape: [4, 8], format: 'f32', values: new Float32Array(32) };
  const single = await prepare(driver, allOps.silu!, { name: '', operands: { x }, attributes: {} });
  const change = (words: Int32Array) => {
    words[operand(0, 0, 0)] = 3; // x lies in the outputs, at the place of y
    return undefined;
  };
  await expect(runChanged(single, change)).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
});

test('an output over another output', async () => {
  const single = await prepare(driver, allOps.topK!, allOps.topK!.samples()[0]!);
  const change = (words: Int32Array) => {
    const [values, indices] = [operand(1, 2), operand(2, 2)];
    words[indices] = words[values]!;
    return undefined;
  };
  await expect(runChanged(single, change)).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
});

test('indices that change while they are used', async () => {
  const T = 4096;
  const table = { shape: [2, 16], format: 'f32', values: new Float32Array(32) };
  const ids = { shape: [T], format: 'i32', values: new Int32Array(T) };
  const single = await prepare(
    driver,
    allOps.embed!,
    { name: '', operands: { table, ids }, attributes: {} },
    20,
  );
  const words = new Int32Array(single.io.inputs);
  for (let run = 0; run < 50; run++) {
    const outcome = driver.executor.execute(single.plan, single.io).then(
      () => 'ran',
      (error: { code: string }) => error.code,
    );
    for (let i = 0; i < 100_000; i++) Atomics.store(words, T - 1, i % 8 === 0 ? 0x7fffffff : 0);
    Atomics.store(words, T - 1, 0);
    expect(['ran', 'OUT_OF_RANGE']).toContain(await outcome);
  }
});

test('a row that changes during the search for its maximum', async () => {
  const V = 1 << 18;
  const x = { shape: [1, V], format: 'f32', values: new Float32Array(V) };
  const single = await prepare(driver, allOps.argmax!, { name: '', operands: { x }, attributes: {} }, 20);
  const inputs = driver.executor.hostMemory!(single.io.inputs.byteLength, 'inputs');
  const row = new Float32Array(inputs);
  for (let run = 0; run < 40; run++) {
    const running = driver.executor.execute(single.plan, { ...single.io, inputs });
    for (let i = 0; i < 20_000; i++) row[(i * 7919) % V] = i % 2 ? 0 : i;
    await running;
    const [index] = new Int32Array(single.io.outputs);
    expect(index).toBeGreaterThanOrEqual(0);
    expect(index).toBeLessThan(V);
  }
});

/** The first samples, and one with operands that joined the op later. */
function someSamples(op: AnyOp, count: number): readonly Sample[] {
  const samples = op.samples();
  const isLater = ({ operands }: Sample) => Object.keys(operands).some((name) => op.operands[name]!.claimed);
  return [...samples.slice(0, count), ...samples.filter(isLater).slice(0, 1)];
}

/** Other shapes with equal counts. */
function reshaped(shape: readonly number[]): readonly (readonly number[])[] {
  const count = shape.reduce((product, size) => product * size, 1);
  const [first = 1, ...others] = shape;
  return [[count], [1, count], [count, 1], [1, 1, count], [...shape].reverse(), [...others, first]];
}

const canary = 0xa5;
const fence = 1 << 14;
const intact = new Uint8Array(fence).fill(canary);

/** The op's plan with its outputs inside memory filled with `canary`. */
function fenced({ plan, io }: SingleOp, operands: number, outputs: number) {
  const words = plan.words.slice();
  const end = words.length;
  for (let i = operands - outputs; i < operands; i++)
    words[end - (operands - i) * operandWords + 2]! += fence;
  words[8]! += 2 * fence;
  return { words, memory: new Uint8Array(io.outputs.byteLength + 2 * fence).fill(canary) };
}

test.each(Object.keys(allOps))(
  '%s: operands with equal counts but other shapes',
  async (name) => {
    const op = allOps[name]!;
    for (const sample of someSamples(op, 3)) {
      const single = await prepare(driver, op, sample);
      const outputs = op.infer(
        Object.fromEntries(
          Object.entries(sample.operands).map(([key, { shape, format }]) => [key, { shape, dtype: format }]),
        ),
        sample.attributes,
      ).length;
      const operands = single.plan.words[headerWords + 3]!;
      const { words, memory } = fenced(single, operands, outputs);
      for (let i = 0; i < operands; i++) {
        const at = words.length - (operands - i) * operandWords + 5;
        const shape = Array.from(words.slice(at + 1, at + 1 + words[at]!));
        for (const other of reshaped(shape)) {
          if (other.length > 4) continue;
          const changed = words.slice();
          changed.set([other.length, ...other], at);
          const io = { ...single.io, outputs: memory.buffer };
          const outcome = await driver.executor.execute({ ...single.plan, words: changed }, io).then(
            () => 'ran',
            (error: { code: string }) => error.code,
          );
          expect(['ran', 'BAD_ARGUMENT', 'OUT_OF_RANGE', 'UNSUPPORTED']).toContain(outcome);
          const edges = [memory.subarray(0, fence), memory.subarray(memory.length - fence)];
          expect(edges.map((edge) => Buffer.compare(edge, intact))).toEqual([0, 0]);
        }
      }
    }
  },
  120_000,
);

test('capture refuses what execute refuses', async () => {
  const { plan, io } = await linear();
  const words = plan.words.slice();
  words[0] = 0;
  const captured = (async () => driver.executor.capture!({ ...plan, words }, io))();
  await expect(captured).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
});

test.each(Object.keys(allOps))('%s: random words in place of its own', async (name) => {
  const op = allOps[name]!;
  const next = random(name.length);
  const interesting = [0, 1, -1, 2, 5, 63, 64, 65, 0x7fffffff, -0x80000000, 1 << 20];
  for (const sample of someSamples(op, 2)) {
    const single = await prepare(driver, op, sample);
    for (let i = 0; i < 200; i++) {
      const change = (words: Int32Array) => {
        for (let n = 0; n <= next() * 3; n++)
          words[Math.floor(next() * words.length)] = interesting[Math.floor(next() * interesting.length)]!;
        return undefined;
      };
      const outcome = await runChanged(single, change).then(
        () => 'ran',
        (error: { code: string }) => error.code,
      );
      expect(['ran', 'BAD_ARGUMENT', 'UNSUPPORTED', 'OUT_OF_RANGE', 'OUT_OF_MEMORY']).toContain(outcome);
    }
  }
});

test('the driver still computes', async () => {
  const single = await linear();
  await driver.executor.execute(single.plan, single.io);
});
