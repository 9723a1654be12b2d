import { interleave } from '../src/chat/interleave.js';

const { jest } = import.meta;

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Counts to `count`, a value per turn of the event loop. */
const counting = (count: number, ended = { early: false }): AsyncIterable<number> => ({
  [Symbol.asyncIterator]: () => {
    let value = 0;
    const next = async (): Promise<IteratorResult<number>> => {
      await turn();
      return value < count ? { done: false, value: value++ } : { done: true, value: undefined };
    };
    return {
      next,
      return: async () => {
        ended.early = value < count;
        return { done: true, value: undefined };
      },
    };
  },
});

/** Number of reactions that code adds to promises meanwhile. */
async function reactionsDuring(work: () => Promise<void>): Promise<number> {
  const then = jest.spyOn(Promise.prototype, 'then');
  await work();
  const count = then.mock.calls.length;
  then.mockRestore();
  return count;
}

test('all values, those of each source in their order', async () => {
  const found: number[][] = [[], [], []];
  for await (const [index, value] of interleave([counting(3), counting(0), counting(5)]))
    found[index]!.push(value);
  expect(found).toEqual([[0, 1, 2], [], [0, 1, 2, 3, 4]]);
});

test('few reactions per value, however many sources there are', async () => {
  let values = 0;
  const reactions = await reactionsDuring(async () => {
    for await (const _ of interleave(Array.from({ length: 100 }, () => counting(10)))) values++;
  });
  expect(values).toBe(1000);
  expect(reactions).toBeLessThanOrEqual(3 * values);
});

test('many sources start in several turns of the event loop, and the first values come before the last start', async () => {
  let [turns, starts] = [0, 0];
  const startsAt: number[] = [];
  const source = (): AsyncIterable<number> => ({
    async *[Symbol.asyncIterator]() {
      startsAt.push(turns);
      starts++;
      yield starts;
    },
  });
  const count = () => {
    turns++;
    if (starts < 100) setImmediate(count);
  };
  setImmediate(count);
  const startsBefore: number[] = [];
  for await (const _ of interleave(Array.from({ length: 100 }, source))) startsBefore.push(starts);
  for (const turn of new Set(startsAt)) expect(startsAt.filter((at) => at === turn)).toHaveLength(1);
  expect(startsBefore).toHaveLength(100);
  expect(startsBefore[0]).toBeLessThan(100);
});

test('of many sources 256 are at work at a time', async () => {
  let [atWork, most, values] = [0, 0, 0];
  const source = (): AsyncIterable<number> => ({
    async *[Symbol.asyncIterator]() {
      most = Math.max(most, ++atWork);
      for (let turns = 0; turns < 300; turns++) await turn();
      yield 1;
      atWork--;
    },
  });
  for await (const _ of interleave(Array.from({ length: 1000 }, source))) values++;
  expect({ most, values, atWork }).toEqual({ most: 256, values: 1000, atWork: 0 });
});

test('leaving it while sources start starts no others', async () => {
  let starts = 0;
  const source = (): AsyncIterable<number> => ({
    async *[Symbol.asyncIterator]() {
      starts++;
      yield starts;
    },
  });
  for await (const _ of interleave(Array.from({ length: 100 }, source))) break;
  expect(starts).toBeLessThanOrEqual(16);
});

test('the first error ends all sources', async () => {
  const failing = {
    async *[Symbol.asyncIterator]() {
      yield 1;
      throw new Error('broken');
    },
  };
  const ended = { early: false };
  const all = interleave([counting(100, ended), failing]);
  await expect(
    (async () => {
      for await (const _ of all);
    })(),
  ).rejects.toThrow('broken');
  expect(ended.early).toBe(true);
});

test('leaving it ends all sources, also with values that nobody has read', async () => {
  const ended = [{ early: false }, { early: false }, { early: false }];
  const all = interleave(ended.map((each) => counting(100, each)));
  for await (const _ of all) {
    await turn();
    await turn();
    break;
  }
  expect(ended.map(({ early }) => early)).toEqual([true, true, true]);
});
