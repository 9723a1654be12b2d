// Chains that the device advances by itself, on the emulated device: as single replays with writes between them.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend, CapturedGraph, ChainOptions, Tensor } from '@quern/core';
import { random } from '@quern/core/testing';
import { withSettings } from './settings.js';

/** On the backend of an emulated GPU. */
export function chainTests(createBackend: () => Promise<Backend>): void {
  const folder = mkdtempSync(join(tmpdir(), 'quern-chain-'));
  let backend: Backend;
  beforeAll(async () => {
    backend = await createBackend();
  });
  afterAll(() => {
    backend.dispose();
    rmSync(folder, { recursive: true });
  });

  const [V, heads, headDim, blockSize, blocksPerRow, most] = [24, 2, 8, 2, 4, 12];
  const width = heads * headDim;

  /** Three sequences in three places, with blocks out of order. */
  const start = { states: [3, 9, 14], positions: [0, 3, 1] };
  const blockTable = [4, 0, 9, 2, 1, 10, 3, 11, 8, 5, 7, 6];
  const rows = start.states.length;

  function values(count: number, seed: number): Float32Array {
    const next = random(seed);
    return Float32Array.from({ length: count }, () => 2 * next() - 1);
  }

  const weight = (shape: readonly number[], seed: number) => {
    const array = values(
      shape.reduce((a, b) => a * b),
      seed,
    );
    return backend.loadWeight({ name: 'w', shape, format: 'f32', bytes: new Uint8Array(array.buffer) });
  };

  const slotOf = (row: number, position: number) =>
    blockTable[row * blocksPerRow + Math.floor(position / blockSize)]! * blockSize + (position % blockSize);

  interface Decoding {
    readonly graph: CapturedGraph;
    readonly inputs: Readonly<Record<'states' | 'positions' | 'lengths' | 'slots', Tensor>>;
    readonly next: Tensor;
    readonly logits: Tensor;
    /** Bytes of both caches: of blocks in the block table's order. */
    cache(blocks?: readonly number[]): Promise<Uint8Array[]>;
  }

  /** One layer with a paged cache, one row per sequence; tokens and logits are kept. */
  async function decoding(): Promise<Decoding> {
    const [embedding, head] = [await weight([V, width], 1), await weight([V, width], 2)];
    const caches = ['k', 'v'].map(() =>
      backend.kvBuffer({ dtype: 'f32', blocks: blockTable.length, blockSize, heads, headDim }),
    );
    const [k, v] = caches as [(typeof caches)[0], (typeof caches)[0]];
    const step = backend.step();
    const ints = (words: readonly number[], shape = [words.length]) =>
      step.input(Int32Array.from(words), shape);
    const inputs = {
      states: ints(start.states),
      positions: ints(start.positions),
      lengths: ints(start.positions.map((position) => position + 1)),
      slots: ints(start.positions.map((position, row) => slotOf(row, position))),
    };
    const table = ints(blockTable, [rows, blocksPerRow]);
    const x = backend.embed(embedding, inputs.states);
    const q = backend.view(x, [rows, heads, headDim]);
    backend.kvAppend({ k, v }, q, q, inputs.slots);
    const batch = {
      cuSeqlens: ints([0, 1, 2, 3]),
      kvLengths: inputs.lengths,
      blockTable: table,
      positions: inputs.positions,
      slots: inputs.slots,
      lastRows: ints([0, 1, 2]),
    };
    const config = { heads, kvHeads: heads, headDim, scale: 1, causal: true };
    const mixed = backend.view(backend.attention(q, { k, v }, batch, config), [rows, width]);
    const logits = backend.linear(mixed, head);
    const next = backend.argmax(logits);
    step.keep(logits);
    const { states, positions, lengths, slots } = inputs;
    const chain = {
      output: next,
      feed: states,
      advance: [positions, lengths],
      slots: { slots, positions, blockTable: table, blockSize },
      most,
    };
    const graph = await backend.graph!.capture(step, { chain });
    const cache = (blocks: readonly number[] = blockTable) =>
      Promise.all(caches.flatMap((buffer) => blocks.map((block) => buffer.readBlocks(block))));
    return { graph, inputs, next, logits, cache };
  }

  /** Single replays: the tokens of each row until its end. Without a slot for a row they end. */
  async function singly(
    { graph, inputs, next }: Decoding,
    counts: readonly number[],
    stops: readonly number[],
  ) {
    const [states, positions] = [[...start.states], [...start.positions]];
    const tokens: number[][] = states.map(() => []);
    const ended = (row: number) =>
      tokens[row]!.length >= counts[row]! || stops.includes(tokens[row]!.at(-1) ?? -1);
    for (;;) {
      await graph.replay();
      const found = [...graph.read(next)];
      const live = states.map((_, row) => row).filter((row) => !ended(row));
      for (const row of live) tokens[row]!.push(found[row]!);
      const moving = live.filter((row) => !ended(row));
      if (moving.length === 0 || moving.some((row) => positions[row]! + 1 >= blocksPerRow * blockSize))
        return tokens;
      for (const row of moving) {
        states[row] = found[row]!;
        positions[row]!++;
      }
      const write = (tensor: Tensor, words: number[]) => graph.write(tensor, Int32Array.from(words));
      write(inputs.states, states);
      write(inputs.positions, positions);
      write(
        inputs.lengths,
        positions.map((position) => position + 1),
      );
      write(
        inputs.slots,
        positions.map((position, row) => slotOf(row, position)),
      );
    }
  }

  function shared(counts: readonly number[]): Int32Array {
    const words = new Int32Array(new SharedArrayBuffer(4 * counts.length));
    words.set(counts);
    return words;
  }

  test.each([
    ['one limit', [5, 5, 5], []],
    ['one token', [1, 1, 1], []],
    ['limits of their own', [1, 4, 7], []],
    ['a stop of one row', [5, 5, 5], [0]],
    ['a stop of another', [5, 5, 5], [1]],
    ['stops of all rows', [5, 5, 5], [0, 1, 2]],
  ])('tokens, caches and outputs of paged rows: %s', async (_, counts, stopped) => {
    const [chained, single] = [await decoding(), await decoding()];
    const long = await singly(await decoding(), [5, 5, 5], []);
    const stops = stopped.map((row) => long[row]![2]!);
    const want = await singly(single, counts, stops);
    const found = await chained.graph.replayChain({ limits: shared(counts), stops: Int32Array.from(stops) });
    expect([...found.counts]).toEqual(want.map(({ length }) => length));
    const tokens = want.map((row, s) => row.map((_token, i) => found.tokens[i * rows + s]!));
    expect(tokens).toEqual(want);
    expect(chained.graph.read(chained.logits)).toEqual(single.graph.read(single.logits));
    expect(await chained.cache()).toEqual(await single.cache());
    await Promise.all([chained.graph.replay(), single.graph.replay()]); // the inputs are those of the last replay
    expect(chained.graph.read(chained.logits)).toEqual(single.graph.read(single.logits));
  });

  test('a row without a slot ends the chain, and writes to no other slot', async () => {
    const [chained, single] = [await decoding(), await decoding()];
    await singly(single, [8, 8, 8], []);
    await expect(chained.graph.replayChain({ limits: shared([8, 8, 8]) })).rejects.toMatchObject({
      code: 'OUT_OF_RANGE',
      message: expect.stringMatching(/row 1 reached position 8; its 4 blocks of 2/),
    });
    const own = blockTable.slice(blocksPerRow, 2 * blocksPerRow);
    expect(await chained.cache(own)).toEqual(await single.cache(own));
  });

  test.each([
    ['', {}],
    [', with a listener', { onTokens() {} }],
  ])('the device has work while the host waits%s', async (_, options) => {
    const { graph } = await decoding();
    await graph.replayChain({ limits: shared([1, 1, 1]) }); // what loading has left ends here
    for (const tokens of [1, 5])
      expect(await idleTimes(graph, { limits: shared([tokens, 1, 1]), ...options })).toBe(2);
  });

  /** How often the host waits until the device has no work left: for the last token, and for the outputs. */
  async function idleTimes(graph: CapturedGraph, options: ChainOptions): Promise<number> {
    const waits = join(folder, 'waits');
    writeFileSync(waits, '');
    await withSettings({ QUERN_EMULATED_WAITS: waits }, async () => {
      const { counts } = await graph.replayChain(options);
      expect([...counts]).toEqual([...options.limits]);
    });
    return statSync(waits).size;
  }

  test.each([1, 3, 17, 64, 256])('%d rows: no idle time between replays, and all tokens', async (count) => {
    const graph = await counters(count);
    await graph.replay(); // what loading has left ends here
    const limits = shared(Array.from({ length: count }, (_, row) => 1 + ((3 + row) % 4)));
    const told: number[][] = [];
    const onTokens = (tokens: Int32Array) => void told.push([...tokens]);
    expect(await idleTimes(graph, { limits, onTokens })).toBe(2);
    const states = (step: number) =>
      Array.from(limits, (limit, row) => (step < limit ? step + (row % 8) : -1));
    expect(told).toEqual(Array.from({ length: Math.max(...limits) }, (_, step) => states(step)));
  });

  test('the device goes on to the end of the chain while JavaScript has not read the first token', async () => {
    const replays = 12;
    const launches = join(folder, 'launches');
    writeFileSync(launches, '');
    const launched = () => readFileSync(launches, 'utf8').split('advance_chain').length - 1;
    const { graph } = await counting(replays, replays);
    const steps: number[] = [];
    await withSettings({ QUERN_EMULATED_LAUNCHES: launches }, async () => {
      const onTokens = (_: Int32Array, step: number) => {
        while (launched() < replays); // JavaScript is busy
        steps.push(step);
      };
      await graph.replayChain({ limits: shared([replays]), onTokens });
    });
    expect(steps).toEqual(Array.from({ length: replays }, (_, step) => step));
  });

  test('a listener ends a chain that has only begun', async () => {
    const replays = 20_000;
    const { graph, twice } = await counting(replays, replays);
    const limits = shared([replays]);
    let told = 0;
    const onTokens = () => {
      if (++told === 3) limits.fill(0);
    };
    const { counts } = await graph.replayChain({ limits, onTokens });
    expect(counts[0]).toBeLessThan(replays);
    expect(told).toBe(counts[0]);
    expect(graph.read(twice)[0]).toBe(2 * (counts[0]! - 1));
  });

  /** Rows whose tokens count, from r % 8 in row r; at most 4 replays. */
  async function counters(rows: number): Promise<CapturedGraph> {
    const states = 11;
    const oneHot = Float32Array.from({ length: states ** 2 }, (_, i) => (i % (states + 1) === 0 ? 1 : 0));
    const bytes = new Uint8Array(oneHot.buffer);
    const table = await backend.loadWeight({ name: 'table', shape: [states, states], format: 'f32', bytes });
    const step = backend.step();
    const first = Int32Array.from({ length: rows }, (_, row) => row % 8);
    const [feed, at] = [step.input(first), step.input(first)];
    const output = backend.argmax(backend.embed(table, at));
    return backend.graph!.capture(step, { chain: { output, feed, advance: [at], most: 4 } });
  }

  /** A state that counts, and a kept output with other values in every replay: twice the state. */
  async function counting(states: number, replays: number) {
    const table = Float32Array.from({ length: states }, (_, i) => i);
    const numbers = await backend.loadWeight({
      name: 'numbers',
      shape: [states, 1],
      format: 'f32',
      bytes: new Uint8Array(table.buffer),
    });
    const step = backend.step();
    const state = step.input(Int32Array.of(0));
    const at = step.input(Int32Array.of(0));
    const x = backend.embed(numbers, at);
    const twice = backend.add(x, x);
    const next = backend.argmax(twice);
    step.keep(twice);
    const chain = { output: next, feed: state, advance: [at], most: replays };
    return { graph: await backend.graph!.capture(step, { chain }), at, twice };
  }

  test('an op that fails in the middle is named, and the next chain is whole', async () => {
    const { graph, at, twice } = await counting(4, 9);
    await expect(graph.replayChain({ limits: shared([9]) })).rejects.toMatchObject({
      code: 'OUT_OF_RANGE',
      message: expect.stringMatching(/embed/),
    });
    graph.write(at, Int32Array.of(1));
    const { counts } = await graph.replayChain({ limits: shared([3]) });
    expect([...counts, ...graph.read(twice)]).toEqual([3, 6]);
  });

  test('a fault behind the last replay that counts is not told', async () => {
    const { graph, twice } = await counting(4, 9);
    const { counts } = await graph.replayChain({ limits: shared([4]) });
    expect([...counts, ...graph.read(twice)]).toEqual([4, 6]);
  });

  test.each([0, 1])('a limit lowered to %d while the device is ahead', async (limit) => {
    const replays = 20_000;
    const { graph, twice } = await counting(replays, replays);
    await graph.replay();
    const limits = shared([replays]);
    setTimeout(() => limits.fill(limit), 20);
    const { counts } = await graph.replayChain({ limits });
    expect(counts[0]).toBeLessThan(replays);
    expect(graph.read(twice)[0]).toBe(2 * (counts[0]! - 1));
    await graph.replay();
    expect(graph.read(twice)[0]).toBe(2 * (counts[0]! - 1));
  });

  test('an abort in the middle of a chain', async () => {
    const { graph, at, twice } = await counting(20_000, 20_000);
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 20);
    const aborted = graph.replayChain({ limits: shared([20_000]), signal: controller.signal });
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' });
    graph.write(at, Int32Array.of(5));
    await graph.replay();
    expect(graph.read(twice)[0]).toBe(10);
  });
}
