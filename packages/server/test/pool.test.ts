// Models on demand: when they load, who waits, and who makes way.
import { RuntimeError } from '@quern/runtime';
import { FakeSource, fakePool, settled } from './fake-pool.js';

const second = 1000;

/** The outcome of a promise so far. */
function watch<T>(promise: Promise<T>): { value?: T; error?: unknown } {
  const seen: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => {
      seen.value = value;
    },
    (error: unknown) => {
      seen.error = error;
    },
  );
  return seen;
}

describe('loading', () => {
  test('a model loads at its first request; all that came meanwhile begin with it, in order', async () => {
    const { pool, of } = fakePool({ a: 1 });
    const order: number[] = [];
    const all = [0, 1, 2].map((i) => pool.acquire('a').then(() => order.push(i)));
    await settled();
    expect([order, of.a.loads, pool.find('a')!.state]).toEqual([[], 1, 'loading']);
    expect(pool.find('a')!.counts).toMatchObject({ waiting: 3, running: 0, loads: 0 });
    await of.a.arrive();
    await Promise.all(all);
    expect(order).toEqual([0, 1, 2]);
    expect(pool.find('a')!.counts).toMatchObject({ waiting: 0, running: 3, loads: 1, bytes: 1 });
  });

  test('nothing is loaded before', () => {
    const { pool, of } = fakePool({ a: 1, b: 1 });
    expect([of.a.loads, of.b.loads, pool.models.map(({ state }) => state)]).toEqual([
      0,
      0,
      ['unloaded', 'unloaded'],
    ]);
  });

  test('one model loads at a time', async () => {
    const { pool, of } = fakePool({ a: 1, b: 1 });
    for (const name of ['a', 'b']) void pool.acquire(name);
    await settled();
    expect([of.a.loads, of.b.loads]).toEqual([1, 0]);
    await of.a.arrive();
    expect(of.b.loads).toBe(1);
  });

  test('a failed load gives all waiting requests one error; the next request tries again', async () => {
    const { pool, of } = fakePool({ a: 1 });
    const waiting = [watch(pool.acquire('a')), watch(pool.acquire('a'))];
    await settled();
    await of.a.fail(new Error('the file is damaged'));
    for (const { error } of waiting)
      expect(error).toMatchObject({
        code: 'LOAD_FAILED',
        message: 'the model "a" cannot be loaded: the file is damaged',
      });
    expect(waiting[0]!.error).toBe(waiting[1]!.error);
    expect(pool.find('a')).toMatchObject({ state: 'unloaded', counts: { failures: 1, bytes: 0 } });
    const again = watch(pool.acquire('a'));
    await settled();
    await of.a.arrive();
    expect(again.value).toBeDefined();
    expect(pool.find('a')!.failure).toBeUndefined();
  });

  test('the plan of a load is asked for each time; a file that is gone is the error of that request', async () => {
    const { pool, of } = fakePool({ a: 1 }, { memoryBytes: 10 }, false);
    const plans = [() => Promise.reject(new Error('gone')), async () => 11, async () => 7];
    Object.assign(of.a, { plan: () => plans.shift()!() });
    await expect(pool.acquire('a')).rejects.toMatchObject({ code: 'LOAD_FAILED', message: /: gone$/ });
    await expect(pool.acquire('a')).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message: 'the model "a" takes 11 bytes; the server has 10 bytes for models',
    });
    await pool.acquire('a');
    expect(pool.find('a')!.counts.bytes).toBe(7);
  });

  test('a file that has become a model of another kind', async () => {
    const { pool, of } = fakePool({ a: 1 }, {}, false);
    Object.assign(of.a, { kind: 'embedding' });
    const changed = fakePool({ a: 1 }, { models: { a: of.a } }, false);
    await expect(changed.pool.acquire('a')).rejects.toMatchObject({
      code: 'LOAD_FAILED',
      message: /its file has become a model for generation; it was one for embedding$/,
    });
    expect(FakeSource.log).toEqual(['load a', 'unload a']);
    await pool.dispose();
  });

  test('an unknown name', async () => {
    const { pool } = fakePool({ a: 1, b: 2 });
    await expect(pool.acquire('c')).rejects.toMatchObject({
      code: 'UNKNOWN_MODEL',
      message: 'there is no model "c"; known models: a, b',
    });
  });
});

describe('aborts', () => {
  test('of one waiter: the others go on', async () => {
    const { pool, of } = fakePool({ a: 1 });
    const controller = new AbortController();
    const gone = watch(pool.acquire('a', controller));
    const stays = watch(pool.acquire('a'));
    await settled();
    controller.abort();
    await settled();
    expect(gone.error).toMatchObject({ code: 'ABORTED' });
    await of.a.arrive();
    expect([stays.value === undefined, pool.find('a')!.counts.running]).toEqual([false, 1]);
  });

  test('of the only waiter: a load that has begun goes on, and the next request finds the model', async () => {
    const { pool, of } = fakePool({ a: 1 });
    const controller = new AbortController();
    void watch(pool.acquire('a', controller));
    await settled();
    controller.abort();
    await settled();
    expect(of.a.signal!.aborted).toBe(false);
    await of.a.arrive();
    expect(pool.find('a')!.state).toBe('loaded');
    await pool.acquire('a');
    expect(of.a.loads).toBe(1);
  });

  test('of the only waiter while there is no room: nothing makes way', async () => {
    const { pool, of } = fakePool({ a: 6, b: 6 }, { memoryBytes: 10 }, false);
    const lease = await pool.acquire('a');
    const controller = new AbortController();
    void watch(pool.acquire('b', controller));
    await settled();
    controller.abort();
    await settled();
    lease.release();
    await settled();
    expect([of.b.loads, pool.find('a')!.state, pool.find('b')!.state]).toEqual([0, 'loaded', 'unloaded']);
  });

  test('before the request', async () => {
    const { pool, of } = fakePool({ a: 1 });
    await expect(pool.acquire('a', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    expect(of.a.loads).toBe(0);
  });
});

describe('unused models', () => {
  test('are unloaded after idleMs, counted from the end of the last request', async () => {
    const { pool, clock } = fakePool({ a: 1 }, { idleMs: 60 * second }, false);
    const lease = await pool.acquire('a');
    await clock.pass(1000 * second);
    expect(pool.find('a')!.state).toBe('loaded'); // a request uses it
    lease.release();
    await clock.pass(59 * second);
    (await pool.acquire('a')).release();
    await clock.pass(59 * second);
    expect(pool.find('a')!.state).toBe('loaded');
    await clock.pass(second);
    expect(pool.find('a')).toMatchObject({ state: 'unloaded', counts: { unloads: 1, bytes: 0 } });
  });

  test('with idleMs 0 at once, with Infinity never', async () => {
    const at0 = fakePool({ a: 1 }, { idleMs: 0 }, false);
    (await at0.pool.acquire('a')).release();
    await settled();
    expect(at0.pool.find('a')!.state).toBe('unloaded');
    const never = fakePool({ a: 1 }, { idleMs: Number.POSITIVE_INFINITY }, false);
    (await never.pool.acquire('a')).release();
    await never.clock.pass(1e9 * second);
    expect(never.pool.find('a')).toMatchObject({ state: 'loaded', expires: Number.POSITIVE_INFINITY });
  });

  test('a request may say how long its model stays; the next one has the default again', async () => {
    const { pool, clock } = fakePool({ a: 1 }, { idleMs: 60 * second }, false);
    const lease = await pool.acquire('a');
    lease.keepFor(Number.POSITIVE_INFINITY);
    lease.release();
    await clock.pass(3600 * second);
    expect(pool.find('a')!.state).toBe('loaded');
    (await pool.acquire('a')).release();
    expect(pool.find('a')!.expires).toBe(clock.now() + 60 * second);
    await clock.pass(60 * second);
    expect(pool.find('a')!.state).toBe('unloaded');
  });

  test('releasing twice counts once', async () => {
    const { pool } = fakePool({ a: 1 }, {}, false);
    const [one, other] = [await pool.acquire('a'), await pool.acquire('a')];
    one.release();
    one.release();
    expect(pool.find('a')!.counts.running).toBe(1);
    other.release();
  });

  test('pinned models stay, and load at the start', async () => {
    const a = new FakeSource('a', 1, false, true);
    const { pool, clock } = fakePool({}, { models: { a }, idleMs: 0 });
    await pool.start();
    await clock.pass(second);
    expect([a.loads, pool.find('a')!.state]).toEqual([1, 'loaded']);
    await expect(pool.unload('a')).rejects.toMatchObject({ code: 'PINNED' });
  });
});

describe('room', () => {
  test('the least recently used model makes way, and no more than needed', async () => {
    const { pool, clock } = fakePool({ a: 4, b: 4, c: 4 }, { memoryBytes: 8 }, false);
    for (const name of ['a', 'b', 'a']) {
      (await pool.acquire(name)).release();
      await clock.pass(second);
    }
    (await pool.acquire('c')).release();
    expect(pool.models.map(({ state }) => state)).toEqual(['loaded', 'unloaded', 'loaded']);
    expect(FakeSource.log).toEqual(['load a', 'load b', 'unload b', 'load c']);
  });

  test('small models stay where a large one makes way', async () => {
    const { pool, clock } = fakePool({ small: 1, large: 8, other: 8 }, { memoryBytes: 10 }, false);
    for (const name of ['small', 'large', 'other']) {
      (await pool.acquire(name)).release();
      await clock.pass(second);
    }
    expect(pool.models.map(({ state }) => state)).toEqual(['loaded', 'unloaded', 'loaded']);
  });

  test('maxModels counts models', async () => {
    const { pool, clock } = fakePool({ a: 1, b: 1, c: 1 }, { maxModels: 2 }, false);
    for (const name of ['a', 'b', 'c']) {
      (await pool.acquire(name)).release();
      await clock.pass(second);
    }
    expect(pool.models.map(({ state }) => state)).toEqual(['unloaded', 'loaded', 'loaded']);
  });

  test('a model in use stays until its requests have ended', async () => {
    const { pool } = fakePool({ a: 6, b: 6 }, { memoryBytes: 10 }, false);
    const leases = [await pool.acquire('a'), await pool.acquire('a')];
    const other = watch(pool.acquire('b'));
    await settled();
    leases[0]!.release();
    await settled();
    expect([other.value, pool.find('a')!.state]).toEqual([undefined, 'loaded']);
    leases[1]!.release();
    await settled();
    expect([other.value === undefined, pool.find('a')!.state]).toEqual([false, 'unloaded']);
  });

  test('memory counts until a model is freed', async () => {
    const { pool, of } = fakePool({ a: 6, b: 6 }, { memoryBytes: 10 }, false);
    let freed = () => {};
    Object.assign(of.a, {
      unload: () =>
        new Promise<void>((resolve) => {
          freed = resolve;
        }),
    });
    (await pool.acquire('a')).release();
    const other = watch(pool.acquire('b'));
    await settled();
    expect([of.b.loads, pool.find('a')]).toMatchObject([0, { state: 'unloaded', counts: { bytes: 6 } }]);
    freed();
    await settled();
    expect([of.b.loads, other.value === undefined]).toEqual([1, false]);
  });

  test('a request for a model that is being freed loads it again', async () => {
    const { pool, of } = fakePool({ a: 6, b: 2 }, { memoryBytes: 10, idleMs: 0 }, false);
    let freed = () => {};
    Object.assign(of.a, {
      unload: () =>
        new Promise<void>((resolve) => {
          freed = resolve;
        }),
    });
    const other = await pool.acquire('b');
    (await pool.acquire('a')).release();
    const again = watch(pool.acquire('a'));
    await settled();
    expect([of.a.loads, pool.find('b')!.state]).toEqual([1, 'loaded']);
    freed();
    await settled();
    expect([of.a.loads, again.value === undefined, pool.find('b')!.state]).toEqual([2, false, 'loaded']);
    other.release();
  });

  test('an unload that fails counts as one, and its error is told', async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown, name: string) => errors.push([name, (error as Error).message]);
    const { pool, of } = fakePool({ a: 6, b: 6 }, { memoryBytes: 10, onError }, false);
    Object.assign(of.a, { unload: () => Promise.reject(new Error('disk full')) });
    (await pool.acquire('a')).release();
    await pool.acquire('b');
    expect([errors, pool.find('a')!.state]).toEqual([[['a', 'disk full']], 'unloaded']);
  });

  test('a machine with less memory than the limits count on: unused models make way, once', async () => {
    const { pool, of } = fakePool({ a: 1, b: 1, c: 1 }, {}, false);
    const used = await pool.acquire('a');
    (await pool.acquire('b')).release();
    const load = of.c.load.bind(of.c);
    const short = new RuntimeError('MODEL_TOO_LARGE', 'the model is too large');
    const loads = [() => Promise.reject(short), load, () => Promise.reject(short)];
    Object.assign(of.c, { load: (signal: AbortSignal) => loads.shift()!(signal) });
    const lease = await pool.acquire('c');
    expect(pool.models.map(({ state }) => state)).toEqual(['loaded', 'unloaded', 'loaded']);
    lease.release();
    await pool.unload('c');
    await expect(pool.acquire('c')).rejects.toMatchObject({ code: 'LOAD_FAILED', cause: short });
    expect([loads.length, pool.find('a')!.state]).toEqual([0, 'loaded']); // nothing unused: no second try
    used.release();
  });

  test('a pool that no model fits in is refused, with numbers', () => {
    expect(() => fakePool({ a: 5_000_000, b: 3_000_000 }, { memoryBytes: 2_000_000 })).toThrow(
      '[ModelPool] memoryBytes is 2.00 MB, which no model fits in: the smallest one, "b", takes 3.00 MB with its cache',
    );
    const models = { a: new FakeSource('a', 6, false, true), b: new FakeSource('b', 6, false, true) };
    expect(() => fakePool({}, { models, memoryBytes: 10 })).toThrow(
      'memoryBytes is 10 bytes, but the pinned models (a, b) take 12 bytes: pin fewer',
    );
    expect(() => fakePool({}, { models, maxModels: 1 })).toThrow('maxModels is 1, but 2 models are pinned');
  });

  test('a model too large even alone, or beside the pinned ones: an error with numbers, and others stay', async () => {
    const models = {
      a: new FakeSource('a', 6, false, true),
      b: new FakeSource('b', 3, false),
      c: new FakeSource('c', 5, false),
    };
    const { pool } = fakePool({}, { models, memoryBytes: 10 });
    await pool.start();
    (await pool.acquire('b')).release();
    await expect(pool.acquire('c')).rejects.toMatchObject({
      code: 'TOO_LARGE',
      message:
        'the model "c" takes 5 bytes; the server has 10 bytes for models, of which models that stay loaded take 6 bytes',
    });
    expect(pool.find('b')!.state).toBe('loaded');
  });

  test.each([
    [{ memoryBytes: 0 }, /memoryBytes/],
    [{ maxModels: 0 }, /maxModels/],
    [{ idleMs: -1 }, /idleMs must be milliseconds, at least 0|idleMs/],
    [{ models: { a: {} } }, /models/],
    [{ idle: 1 }, /idle/],
  ])('wrong options: %j', (options, says) => {
    expect(() => fakePool({ a: 1 }, options as never)).toThrow(says);
  });
});

describe('turns of models that do not fit together', () => {
  const both = { a: 6, b: 6 };
  const limits = { memoryBytes: 10 };

  /** Loads a model in this time, with one request that uses it. */
  async function loaded(pools: ReturnType<typeof fakePool<'a' | 'b'>>, name: 'a' | 'b', ms: number) {
    const lease = pools.pool.acquire(name);
    await settled();
    await pools.clock.pass(ms);
    await pools.of[name].arrive();
    return lease;
  }

  test('a model in use takes new requests for as long as its load took, then others go first', async () => {
    const pools = fakePool(both, limits);
    const { pool, clock, of } = pools;
    const first = await loaded(pools, 'a', 20 * second);
    const other = watch(pool.acquire('b'));
    await clock.pass(19 * second);
    const inTurn = watch(pool.acquire('a'));
    await settled();
    expect(inTurn.value).toBeDefined();
    await clock.pass(second);
    const late = watch(pool.acquire('a'));
    await settled();
    expect(late.value).toBeUndefined();
    first.release();
    inTurn.value!.release();
    await settled();
    expect(of.b.loads).toBe(1);
    await of.b.arrive();
    expect(other.value).toBeDefined();
    other.value!.release();
    await clock.pass(second);
    await of.a.arrive();
    expect(late.value).toBeDefined();
  });

  test('between two requests of one client a model in its turn stays for a moment', async () => {
    const pools = fakePool(both, limits);
    const { pool, clock, of } = pools;
    (await loaded(pools, 'a', 20 * second)).release();
    const other = watch(pool.acquire('b'));
    await clock.pass(100);
    (await pool.acquire('a')).release(); // the client's next request
    await clock.pass(100);
    expect(of.b.loads).toBe(0);
    await clock.pass(100); // 200 ms without one
    expect([of.b.loads, pool.find('a')!.state]).toEqual([1, 'unloaded']);
    await of.b.arrive();
    expect(other.value).toBeDefined();
  });

  test('an unused model whose turn is over makes way at once', async () => {
    const pools = fakePool(both, limits);
    (await loaded(pools, 'a', second)).release();
    await pools.clock.pass(second);
    void pools.pool.acquire('b');
    await settled();
    expect(pools.of.b.loads).toBe(1);
  });

  test('ten clients that alternate: a load serves all of them', async () => {
    const { pool, clock } = fakePool(both, limits, false);
    const rounds = 6;
    const client = async () => {
      for (let round = 0; round < rounds; round++) {
        const lease = await pool.acquire(round % 2 === 0 ? 'a' : 'b');
        await settled();
        lease.release();
      }
    };
    let ended = 0;
    for (let i = 0; i < 10; i++) void client().then(() => ended++);
    for (let i = 0; i < 50 && ended < 10; i++) await clock.pass(second);
    const { loads: ofA } = pool.find('a')!.counts;
    const { loads: ofB } = pool.find('b')!.counts;
    expect([ended, ofA, ofB]).toEqual([10, rounds / 2, rounds / 2]);
  });

  test('ten clients, five for each model, without end: both models get their turns, and no request waits for more than two loads', async () => {
    const { pool, clock, of } = fakePool(both, limits);
    for (const each of [of.a, of.b]) {
      const load = each.load.bind(each);
      const takesTenSeconds = (signal: AbortSignal) => {
        clock.after(10 * second, () => void each.arrive());
        return load(signal);
      };
      Object.assign(each, { load: takesTenSeconds });
    }
    const answered = { a: 0, b: 0 };
    let longest = 0;
    const loads = () => of.a.loads + of.b.loads;
    const client = async (name: 'a' | 'b') => {
      for (;;) {
        const before = loads();
        const lease = await pool.acquire(name);
        longest = Math.max(longest, loads() - before);
        await new Promise<void>((resolve) => clock.after(second, resolve));
        answered[name]++;
        lease.release();
      }
    };
    for (let i = 0; i < 5; i++) for (const name of ['a', 'b'] as const) void client(name).catch(() => {});
    await clock.pass(600 * second);
    void pool.dispose();
    expect(longest).toBeLessThanOrEqual(2);
    expect(loads()).toBeLessThanOrEqual(600 / 20 + 1); // at most half of the time is loading
    for (const name of ['a', 'b'] as const) expect(answered[name]).toBeGreaterThan(5 * 100);
  });

  test('requests for other models that fit go on meanwhile', async () => {
    const { pool } = fakePool({ ...both, c: 3 }, limits, false);
    (await pool.acquire('c')).release();
    const lease = await pool.acquire('a');
    const other = watch(pool.acquire('b'));
    await settled();
    expect(other.value).toBeUndefined();
    (await pool.acquire('c')).release();
    lease.release();
    await settled();
    expect([other.value === undefined, pool.find('c')!.state]).toEqual([false, 'loaded']);
  });
});

describe('by hand', () => {
  test('load and unload', async () => {
    const { pool } = fakePool({ a: 1 }, {}, false);
    await pool.load('a');
    expect(pool.find('a')).toMatchObject({ state: 'loaded', counts: { running: 0 } });
    await pool.unload('a');
    await pool.unload('a'); // harmless
    expect(pool.find('a')).toMatchObject({ state: 'unloaded', counts: { unloads: 1 } });
  });

  test('unloading waits for running requests; new ones wait, and load the model again', async () => {
    const { pool, of } = fakePool({ a: 1 }, {}, false);
    const lease = await pool.acquire('a');
    const unloaded = watch(pool.unload('a').then(() => 'unloaded'));
    await settled();
    const late = watch(pool.acquire('a'));
    await settled();
    expect([unloaded.value, late.value]).toEqual([undefined, undefined]);
    lease.release();
    await settled();
    expect([unloaded.value, of.a.loads, late.value === undefined]).toEqual(['unloaded', 2, false]);
  });

  test('unloading while the model loads', async () => {
    const { pool, of } = fakePool({ a: 1 });
    const request = pool.acquire('a');
    await settled();
    const unloaded = watch(pool.unload('a').then(() => 'unloaded'));
    await of.a.arrive();
    (await request).release();
    await settled();
    expect([unloaded.value, pool.find('a')!.state]).toEqual(['unloaded', 'unloaded']);
  });
});

describe('dispose', () => {
  test('ends waits and the load, and unloads what is loaded', async () => {
    const { pool, of } = fakePool({ a: 1, b: 1 });
    const first = pool.acquire('a');
    await settled();
    await of.a.arrive();
    (await first).release();
    const waiting = watch(pool.acquire('b'));
    await settled();
    const ended = watch(pool.dispose().then(() => 'ended'));
    await settled();
    expect(waiting.error).toMatchObject({ code: 'DISPOSED' });
    expect([of.b.signal!.aborted, ended.value]).toEqual([true, undefined]);
    await of.b.fail(new Error('aborted'));
    expect([ended.value, FakeSource.log]).toEqual(['ended', ['load a', 'load b', 'unload a']]);
    await expect(pool.acquire('a')).rejects.toMatchObject({ code: 'DISPOSED' });
    await pool.dispose(); // harmless
  });

  test('a load that ends in spite of its abort is freed', async () => {
    const { pool, of } = fakePool({ a: 1 });
    void watch(pool.acquire('a'));
    await settled();
    const ended = watch(pool.dispose().then(() => 'ended'));
    await of.a.arrive();
    await settled();
    expect([ended.value, FakeSource.log]).toEqual(['ended', ['load a', 'unload a']]);
  });

  test('ends an unload by hand that waits for a request', async () => {
    const { pool } = fakePool({ a: 1 }, {}, false);
    const lease = await pool.acquire('a');
    const unloaded = watch(pool.unload('a').then(() => 'unloaded'));
    await settled();
    await pool.dispose();
    await settled();
    expect(unloaded.value).toBe('unloaded');
    lease.release(); // harmless
    expect(FakeSource.log).toEqual(['load a', 'unload a']);
  });

  test('while a request waits for room', async () => {
    const { pool, of } = fakePool({ a: 6, b: 6 }, { memoryBytes: 10 }, false);
    await pool.acquire('a');
    const waiting = watch(pool.acquire('b'));
    await settled();
    await pool.dispose();
    expect([of.b.loads, (waiting.error as { code?: string }).code]).toEqual([0, 'DISPOSED']);
    expect(FakeSource.log).toEqual(['load a', 'unload a']);
  });
});
