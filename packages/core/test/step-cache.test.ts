import {
  type Backend,
  type CapturedGraph,
  defineBackend,
  type Graph,
  RepeatedStep,
  StepCache,
  type StepCacheOptions,
  type StepPart,
  type StepRecipe,
} from '../src/index.js';
import { definitionDriver } from './definition-driver.js';

type Arrays = { readonly x: Float32Array; readonly y: Float32Array };

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A backend, its captured graphs, and its number of recorded steps. */
function watched() {
  const backend = defineBackend(definitionDriver());
  const graphs: CapturedGraph[] = [];
  const writes: number[][] = [];
  const counts = { steps: 0 };
  const graph: Graph = {
    async capture(...args) {
      const captured = await backend.graph!.capture(...args);
      const write = captured.write.bind(captured);
      captured.write = (input, values, ...rest) => {
        writes.push([...values]);
        write(input, values, ...rest);
      };
      graphs.push(captured);
      return captured;
    },
  };
  const { step } = backend;
  const counting = Object.assign(backend, {
    step() {
      counts.steps++;
      return step();
    },
  });
  return { backend: counting, graph, graphs, writes, counts };
}

/** z = x + y, on one backend. */
const sum = (backend: Backend, graph: Graph | undefined): StepPart<Arrays> => ({
  backend,
  graph,
  record: (_step, input) => ({ outputs: { z: backend.add(input('x'), input('y')) } }),
});

const recipe = (backend: Backend, graph: Graph | undefined, length = 2): StepRecipe<Arrays> => ({
  arrays: { x: new Float32Array(length), y: new Float32Array(length) },
  parts: [sum(backend, graph)],
});

/** Runs a step with these values. */
const run =
  (x: readonly number[], y: readonly number[], meanwhile = () => Promise.resolve()) =>
  async (step: RepeatedStep<Arrays>) => {
    step.arrays.x.set(x);
    step.arrays.y.set(y);
    step.write('x', 'y');
    const running = step.run(undefined);
    await meanwhile();
    await running;
    return [...step.read('z')];
  };

describe('a repeated step', () => {
  test.each([true, false])('computes with the contents of its arrays (captured: %s)', async (isCaptured) => {
    const { backend, graph, graphs, counts } = watched();
    const step = await RepeatedStep.capture(recipe(backend, isCaptured ? graph : undefined));
    expect(await run([1, 2], [3, 4])(step)).toEqual([4, 6]);
    expect(await run([5, 6], [0, 1])(step)).toEqual([5, 7]);
    expect(counts.steps).toBe(isCaptured ? 1 : 2);
    expect(graphs).toHaveLength(isCaptured ? 1 : 0);
    step.dispose();
  });

  test('writes only the changes', async () => {
    const { backend, graph, writes } = watched();
    const step = await RepeatedStep.capture(recipe(backend, graph, 4));
    step.change('x', [0, 7, 0, 0], 0);
    step.change('x', [7, 0], 1);
    step.change('x', [8, 0, 9], 1);
    expect(writes).toEqual([[7], [8, 0, 9]]);
    await step.run(undefined);
    expect([...step.read('z')]).toEqual([0, 8, 0, 9]);
    step.dispose();
  });

  test.each([
    ['both captured', true, true],
    ['the first captured', true, false],
    ['the last captured', false, true],
    ['none captured', false, false],
  ])('in two parts on two backends, %s', async (_, first, second) => {
    const [a, b] = [watched(), watched()];
    const parts: StepPart<Arrays>[] = [
      {
        backend: a.backend,
        graph: first ? a.graph : undefined,
        record: (_step, input) => ({ outputs: { y: a.backend.add(input('x'), input('x')) } }),
      },
      sum(b.backend, second ? b.graph : undefined),
    ];
    const { arrays } = recipe(a.backend, undefined);
    const step = await RepeatedStep.capture({ arrays, parts });
    for (const [x, tripled] of [
      [
        [1, 2],
        [3, 6],
      ],
      [
        [5, 7],
        [15, 21],
      ],
    ]) {
      step.arrays.x.set(x!);
      step.write('x');
      await step.run(undefined);
      expect([...step.read('z')]).toEqual(tripled);
    }
    expect(step.chains).toBe(false);
    step.dispose();
    expect([...a.graphs, ...b.graphs].every(({ disposed }) => disposed)).toBe(true);
  });

  test('a part that cannot be captured disposes the parts before it', async () => {
    const { backend, graph, graphs } = watched();
    const broken: StepPart<Arrays> = {
      ...sum(backend, graph),
      record() {
        throw new Error('cannot be recorded');
      },
    };
    const { arrays } = recipe(backend, graph);
    await expect(RepeatedStep.capture({ arrays, parts: [sum(backend, graph), broken] })).rejects.toThrow(
      'cannot be recorded',
    );
    expect(graphs.map(({ disposed }) => disposed)).toEqual([true]);
  });
});

describe('a cache of steps', () => {
  const few: StepCacheOptions = { steps: 2, rows: 100 };
  const key = (name: string, rows = 1) => ({ key: name, rows });

  test('captures a step once for concurrent callers; each gets its own result', async () => {
    const { backend, graph, graphs } = watched();
    const cache = new StepCache<Arrays>(few);
    const calls = [1, 2, 3].map((n) =>
      cache.use(key('a'), () => recipe(backend, graph), run([n, n], [1, 2])),
    );
    expect(await Promise.all(calls)).toEqual([
      [2, 3],
      [3, 4],
      [4, 5],
    ]);
    expect(graphs).toHaveLength(1);
    cache.dispose();
    expect(graphs[0]!.disposed).toBe(true);
  });

  test('one caller at a time uses a step', async () => {
    const { backend, graph } = watched();
    const cache = new StepCache<Arrays>(few);
    let inside = 0;
    const alone = async () => {
      expect(++inside).toBe(1);
      await nextTurn();
      inside--;
    };
    const calls = [1, 2, 3].map(() => cache.use(key('a'), () => recipe(backend, graph), alone));
    await Promise.all(calls);
    cache.dispose();
  });

  test('concurrent callers get copies up to the limit', async () => {
    const { backend, graph, graphs } = watched();
    const cache = new StepCache<Arrays>({ ...few, copies: 2 });
    const use = (n: number) =>
      cache.use(key('a'), () => recipe(backend, graph), run([n, n], [0, 0], nextTurn));
    expect(await Promise.all([use(1), use(2), use(3)])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(graphs).toHaveLength(2);
    await use(4);
    expect(graphs).toHaveLength(2);
    cache.dispose();
  });

  test.each([
    ['steps', { steps: 2, rows: 100 }, 1],
    ['rows', { steps: 9, rows: 20 }, 10],
  ])('keeps the most recently used steps, within its limit of %s', async (_, limits, rows) => {
    const { backend, graph, graphs } = watched();
    const cache = new StepCache<Arrays>(limits);
    const use = (name: string) =>
      cache.use(key(name, rows), () => recipe(backend, graph), run([1, 1], [1, 1]));
    for (const name of ['a', 'b', 'a', 'c']) await use(name);
    expect(graphs.map(({ disposed }) => disposed)).toEqual([false, true, false]); // a, b, c
    await use('b');
    expect(graphs.map(({ disposed }) => disposed)).toEqual([true, true, false, false]);
    cache.dispose();
    expect(graphs.every(({ disposed }) => disposed)).toBe(true);
  });

  test('a step larger than all limits is captured, and is evicted by the next step', async () => {
    const { backend, graph, graphs } = watched();
    const cache = new StepCache<Arrays>({ steps: 9, rows: 1 });
    for (const name of ['a', 'a', 'b'])
      await cache.use(key(name, 50), () => recipe(backend, graph), run([1, 1], [1, 1]));
    expect(graphs.map(({ disposed }) => disposed)).toEqual([true, false]);
    cache.dispose();
  });

  test('an evicted step is disposed after its callers have finished', async () => {
    const { backend, graph, graphs } = watched();
    const cache = new StepCache<Arrays>({ steps: 1, rows: 100 });
    const other = () => cache.use(key('b'), () => recipe(backend, graph), run([1, 1], [1, 1]));
    const evicting = async () => {
      await other();
      expect(graphs.map(({ disposed }) => disposed)).toEqual([false, false]);
    };
    const first = cache.use(key('a'), () => recipe(backend, graph), run([1, 2], [3, 4], evicting));
    const waiting = cache.use(key('a'), () => recipe(backend, graph), run([5, 6], [7, 8]));
    expect(await Promise.all([first, waiting])).toEqual([
      [4, 6],
      [12, 14],
    ]);
    expect(graphs.map(({ disposed }) => disposed)).toEqual([true, false]);
    cache.dispose();
  });

  test('with second-use capture a step that comes once is recorded', async () => {
    const { backend, graph, graphs, counts } = watched();
    const cache = new StepCache<Arrays>({ ...few, capture: 'second' });
    const use = () => cache.use(key('a'), () => recipe(backend, graph), run([1, 2], [3, 4]));
    const captured: number[] = [];
    for (let i = 0; i < 4; i++) {
      expect(await use()).toEqual([4, 6]);
      captured.push(graphs.length);
    }
    expect(captured).toEqual([0, 1, 1, 1]);
    expect(counts.steps).toBe(2);
    cache.dispose();
  });

  test('a use may choose its own time of capture', async () => {
    const { backend, graph, graphs } = watched();
    const cache = new StepCache<Arrays>(few);
    const use = (name: string, capture: 'first' | 'second') =>
      cache.use({ ...key(name), capture }, () => recipe(backend, graph), run([1, 2], [3, 4]));
    const captured: number[] = [];
    for (const [name, capture] of [
      ['a', 'second'],
      ['b', 'second'],
      ['b', 'first'],
      ['a', 'second'],
      ['a', 'second'],
    ] as const) {
      expect(await use(name, capture)).toEqual([4, 6]);
      captured.push(graphs.length);
    }
    expect(captured).toEqual([0, 0, 1, 2, 2]);
    cache.dispose();
  });

  test('without a graph every call records, and calls may overlap', async () => {
    const { backend, counts } = watched();
    const cache = new StepCache<Arrays>(few);
    const calls = [1, 2, 3].map((n) =>
      cache.use(key('a'), () => recipe(backend, undefined), run([n, n], [0, 1])),
    );
    expect(await Promise.all(calls)).toEqual([
      [1, 2],
      [2, 3],
      [3, 4],
    ]);
    expect(counts.steps).toBe(3);
    cache.dispose();
  });

  test('a failed capture rejects all waiting calls, and is tried again', async () => {
    const { backend, graph } = watched();
    const cache = new StepCache<Arrays>(few);
    let fails = true;
    const flaky: Graph = {
      capture: (...args) => (fails ? Promise.reject(new Error('no memory')) : graph.capture(...args)),
    };
    const use = () => cache.use(key('a'), () => recipe(backend, flaky), run([1, 2], [3, 4]));
    const results = await Promise.allSettled([use(), use()]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    expect(await use()).toEqual([4, 6]);
    cache.dispose();
  });

  test('a step with freed weights or buffers is captured again', async () => {
    const { backend, graph, graphs } = watched();
    const cache = new StepCache<Arrays>(few);
    const use = () => cache.use(key('a'), () => recipe(backend, graph), run([1, 2], [3, 4]));
    await use();
    graphs[0]!.dispose();
    await expect(use()).rejects.toMatchObject({ code: 'DISPOSED' });
    expect(await use()).toEqual([4, 6]);
    expect(graphs).toHaveLength(2);
    cache.dispose();
  });

  test('disposed while it captures: nothing stays behind', async () => {
    const { backend, graph, graphs } = watched();
    const cache = new StepCache<Arrays>(few);
    const call = cache.use(key('a'), () => recipe(backend, graph), run([1, 2], [3, 4]));
    cache.dispose();
    await expect(call).rejects.toMatchObject({ code: 'DISPOSED' });
    expect(graphs.map(({ disposed }) => disposed)).toEqual([true]);
    const late = cache.use(key('a'), () => recipe(backend, graph), run([1, 2], [3, 4]));
    await expect(late).rejects.toMatchObject({ code: 'DISPOSED' });
    cache.dispose();
  });
});
