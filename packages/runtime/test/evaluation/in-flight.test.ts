import { inFlight } from '../../src/evaluation/in-flight.js';

/** Tasks that run until the test ends each. */
function tasksOf(count: number) {
  const begun: number[] = [];
  const ends: { resolve(): void; reject(error: Error): void }[] = [];
  const tasks = Array.from({ length: count }, (_, i) => () => {
    begun.push(i);
    return new Promise<number>((resolve, reject) => {
      ends[i] = { resolve: () => resolve(i), reject };
    });
  });
  return { begun, ends, tasks };
}

const turns = async () => {
  for (let i = 0; i < 5; i++) await new Promise<void>((resolve) => setImmediate(resolve));
};

async function collect(most: number, tasks: readonly (() => Promise<number>)[], into: number[]) {
  for await (const result of inFlight(most, tasks)) into.push(result);
}

test.each([
  [1, [[0], [0, 1], [0, 1, 2]]],
  [
    2,
    [
      [0, 1],
      [0, 1, 2],
      [0, 1, 2],
    ],
  ],
  [
    4,
    [
      [0, 1, 2],
      [0, 1, 2],
      [0, 1, 2],
    ],
  ],
])('%d at a time, in order', async (most, expected) => {
  const { begun, ends, tasks } = tasksOf(3);
  const results: number[] = [];
  const all = collect(most, tasks, results);
  for (const [i, soFar] of expected.entries()) {
    await turns();
    expect(begun).toEqual(soFar);
    ends[i]!.resolve();
  }
  await all;
  expect(results).toEqual([0, 1, 2]);
});

test('results come in order, whatever order the tasks end in', async () => {
  const { ends, tasks } = tasksOf(3);
  const results: number[] = [];
  const all = collect(3, tasks, results);
  await turns();
  for (const i of [2, 1]) ends[i]!.resolve();
  await turns();
  expect(results).toEqual([]);
  ends[0]!.resolve();
  await all;
  expect(results).toEqual([0, 1, 2]);
});

test('after a failure no task starts; the error comes after all running tasks end', async () => {
  const { begun, ends, tasks } = tasksOf(4);
  const results: number[] = [];
  let told = false;
  const all = collect(2, tasks, results).catch((error: Error) => {
    told = true;
    return error.message;
  });
  await turns();
  ends[0]!.reject(new Error('failed'));
  await turns();
  expect(told).toBe(false);
  ends[1]!.resolve();
  expect(await all).toBe('failed');
  expect(begun).toEqual([0, 1]);
  expect(results).toEqual([]);
});

test('a reader that stops waits for running tasks', async () => {
  const { begun, ends, tasks } = tasksOf(3);
  let stopped = false;
  const reading = (async () => {
    for await (const _ of inFlight(2, tasks)) break;
    stopped = true;
  })();
  await turns();
  ends[0]!.resolve();
  await turns();
  expect(stopped).toBe(false);
  ends[1]!.resolve();
  await reading;
  expect(begun).toEqual([0, 1]);
});
