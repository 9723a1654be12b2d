import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import {
  BackendError,
  BlockPool,
  contiguousKvCache,
  defineBackend,
  KvCache,
  KvSequence,
  need,
} from '../src/index.js';
import { definitionDriver, type Ledger } from './definition-driver.js';

const code = (wanted: string) => expect.objectContaining({ code: wanted });

/** Expected state of a sequence: its tokens by identity, and its capacity. */
interface Model {
  readonly tokens: number[];
  released: boolean;
}
interface Real {
  readonly pool: BlockPool;
  readonly sequences: { readonly model: Model; readonly real: KvSequence }[];
  /** The token in each slot, in place of a cache. */
  readonly slots: Map<number, number>;
  nextToken: number;
}
type State = Readonly<Record<string, never>>;

const [blocks, blockSize, maxBlocks] = [9, 3, 5];

/** Each live sequence finds its own tokens in its slots, and every block is accounted for. */
function checkAll({ pool, sequences, slots }: Real): void {
  const holders = new Uint32Array(blocks);
  for (const { model, real } of sequences) {
    const found = model.tokens.map((_, position) => slots.get(real.slot(position)));
    if (real.length !== model.tokens.length || found.join() !== model.tokens.join())
      throw new Error(`a sequence should hold ${model.tokens}; it has ${real.length} tokens, ${found}`);
    if (real.blockTable.length !== Math.ceil(model.tokens.length / blockSize))
      throw new Error(`${model.tokens.length} tokens take ${real.blockTable.length} blocks`);
    for (const block of real.blockTable) holders[block]!++;
  }
  const counted = holders.map((_, block) => pool.holdersOf(block));
  if (counted.join() !== holders.join())
    throw new Error(`blocks are held by ${holders}; the pool counts ${counted}`);
  if (pool.freeBlocks !== holders.filter((count) => count === 0).length)
    throw new Error(`the pool counts ${pool.freeBlocks} free blocks; blocks are held by ${holders}`);
}

abstract class OnSequence implements fc.Command<State, Real> {
  constructor(
    readonly index: number,
    readonly amount: number,
  ) {}

  check = () => true;

  run(_state: State, all: Real): void {
    const live = all.sequences.filter(({ model }) => !model.released);
    const chosen = live[this.index % Math.max(1, live.length)];
    if (chosen) this.act(all, chosen.model, chosen.real);
    checkAll(all);
  }

  abstract act(all: Real, model: Model, real: KvSequence): void;

  toString(): string {
    return `${this.constructor.name}(${this.index}, ${this.amount})`;
  }
}

class Create implements fc.Command<State, Real> {
  check = () => true;
  run(_state: State, { pool, sequences }: Real): void {
    sequences.push({
      model: { tokens: [], released: false },
      real: new KvSequence(pool, blockSize, maxBlocks),
    });
  }
  toString = () => 'Create';
}

class Append extends OnSequence {
  act(all: Real, model: Model, real: KvSequence): void {
    const wanted = Math.ceil((model.tokens.length + this.amount) / blockSize);
    if (wanted > maxBlocks) {
      expect(() => real.append(this.amount)).toThrow(code('BAD_ARGUMENT'));
      return;
    }
    if (wanted - real.blockTable.length > all.pool.freeBlocks) {
      expect(() => real.append(this.amount)).toThrow(code('OUT_OF_MEMORY'));
      return;
    }
    real.append(this.amount);
    for (let i = 0; i < this.amount; i++) {
      const token = all.nextToken++;
      all.slots.set(real.slot(model.tokens.length), token);
      model.tokens.push(token);
    }
  }
}

class Fork extends OnSequence {
  act(all: Real, model: Model, real: KvSequence): void {
    const length = Math.min(this.amount, model.tokens.length);
    const free = all.pool.freeBlocks;
    const child = real.fork(length);
    expect(child.length).toBe(length - (length % blockSize));
    expect(all.pool.freeBlocks).toBe(free);
    all.sequences.push({
      model: { tokens: model.tokens.slice(0, child.length), released: false },
      real: child,
    });
  }
}

class Truncate extends OnSequence {
  act(_all: Real, model: Model, real: KvSequence): void {
    const length = Math.min(this.amount, model.tokens.length);
    real.truncate(length);
    expect(real.length).toBeLessThanOrEqual(length);
    expect(real.length).toBeGreaterThan(length - blockSize);
    model.tokens.length = real.length;
  }
}

class Release extends OnSequence {
  act(_all: Real, model: Model, real: KvSequence): void {
    real.release();
    real.release();
    expect(() => real.append(1)).toThrow(code('DISPOSED'));
    model.tokens.length = 0;
    model.released = true;
  }
}

test('sequences keep their tokens and the pool its count, for random operations in random order', () => {
  const index = fc.nat(3);
  const amount = fc.oneof({ weight: 6, arbitrary: fc.nat(2 * blockSize) }, fc.nat(maxBlocks * blockSize + 2));
  const commands = fc.commands<State, Real>(
    [
      fc.constant(new Create()),
      fc.tuple(index, amount).map(([i, n]) => new Append(i, n)),
      fc.tuple(index, amount).map(([i, n]) => new Fork(i, n)),
      fc.tuple(index, amount).map(([i, n]) => new Truncate(i, n)),
      index.map((i) => new Release(i, 0)),
    ],
    { maxCommands: 80, size: 'max' },
  );
  const setup = () => ({
    model: {},
    real: { pool: new BlockPool(blocks), sequences: [], slots: new Map(), nextToken: 0 } satisfies Real,
  });
  fc.assert(
    fc.property(commands, (list) => fc.modelRun(setup, list)),
    { numRuns: runs(300) },
  );
});

test('a sequence cut inside a shared block gives up the block', () => {
  const pool = new BlockPool(4);
  const parent = new KvSequence(pool, 4, 3);
  parent.append(8);
  const child = parent.fork();
  child.truncate(6);
  expect(child.length).toBe(4);
  parent.truncate(6);
  expect(parent.length).toBe(6);
});

test.each([[-1], [1.5], [Number.NaN]])('a count of %p is refused everywhere', (count) => {
  const pool = new BlockPool(4);
  const sequence = new KvSequence(pool, 2, 4);
  sequence.append(3);
  for (const act of [sequence.append, sequence.truncate, sequence.fork])
    expect(() => act.call(sequence, count)).toThrow(code('BAD_ARGUMENT'));
  expect(pool.freeBlocks).toBe(2);
});

test('the pool refuses impossible requests without a change of state', () => {
  const pool = new BlockPool(3);
  const [first] = pool.allocate(2);
  expect(() => pool.allocate(2)).toThrow(code('OUT_OF_MEMORY'));
  expect(pool.freeBlocks).toBe(1);
  pool.release(first!);
  expect(() => pool.release(first!)).toThrow(code('BAD_ARGUMENT'));
  expect(() => pool.share(first!)).toThrow(code('BAD_ARGUMENT'));
  expect(() => new BlockPool(0)).toThrow(code('BAD_ARGUMENT'));
});

test('a batch is described row by row', () => {
  const backend = defineBackend(definitionDriver());
  need(backend, 'pagedKv');
  const options = { layers: 1, kvHeads: 1, headDim: 4, dtype: 'f32', context: 8 } as const;
  const cache = backend.pagedKv.createCache({ ...options, blocks: 6, blockSize: 4 });
  const [a, b] = [cache.sequence(), cache.sequence()];
  a.append(4);
  b.append(3);
  a.append(2);
  const arrays = cache.describe([
    { sequence: a, rows: 2 },
    { sequence: b, rows: 3 },
  ]);
  expect(arrays).toEqual({
    positions: Int32Array.of(4, 5, 0, 1, 2),
    cuSeqlens: Int32Array.of(0, 2, 5),
    kvLengths: Int32Array.of(6, 3),
    slots: Int32Array.of(8, 9, 4, 5, 6),
    blockTable: Int32Array.of(0, 2, 1, 0),
    lastRows: Int32Array.of(1, 4),
    states: new Int32Array(0),
  });
  expect(() => cache.describe([{ sequence: b, rows: 4 }])).toThrow(
    expect.objectContaining({ code: 'BAD_ARGUMENT' }),
  );
});

test('a cache is allocated whole or not at all', () => {
  const ledger: Ledger = { buffers: 0, weights: 0, disposals: 0 };
  const driver = definitionDriver(ledger);
  const allocate = driver.memory.allocate;
  let left = 3;
  driver.memory.allocate = (bytes) => {
    if (left-- === 0) throw new BackendError('OUT_OF_MEMORY', 'full');
    return allocate(bytes);
  };
  const backend = defineBackend(driver);
  const options = { layers: 2, kvHeads: 1, headDim: 4, dtype: 'f32', context: 8 } as const;
  expect(() => contiguousKvCache(backend, { ...options, sequences: 1 })).toThrow(code('OUT_OF_MEMORY'));
  expect(ledger.buffers).toBe(0);
  expect(() => contiguousKvCache(backend, { ...options, headDim: 0, sequences: 1 })).toThrow(
    code('BAD_ARGUMENT'),
  );
});

test('blocks of all layers are copied out and in, to the given places', async () => {
  using backend = defineBackend(definitionDriver());
  const options = { layers: 3, kvHeads: 2, headDim: 4, dtype: 'f16', context: 8 } as const;
  using from = KvCache.allocate(backend, options, 4, 2);
  using to = KvCache.allocate(backend, options, 5, 2);
  expect(from.blockBytes).toBe(2 * 3 * 2 * 2 * 4 * 2);
  const bytes = Uint8Array.from({ length: 2 * from.blockBytes }, (_, i) => i % 251);
  await from.writeBlocks([3, 0], bytes);
  expect(await from.readBlocks([3, 0])).toEqual(bytes);
  expect(await from.readBlocks([1, 2])).toEqual(new Uint8Array(bytes.length));
  await to.writeBlocks([1, 4], await from.readBlocks([0, 3]));
  expect(await to.readBlocks([4, 1])).toEqual(bytes);
  const layerBytes = from.blockBytes / 3;
  expect(await to.layer(1).v.readBlocks(4)).toEqual(bytes.slice(1.5 * layerBytes, 2 * layerBytes));
  await expect(from.writeBlocks([0], bytes)).rejects.toEqual(code('BAD_ARGUMENT'));
  await expect(from.readBlocks([4])).rejects.toEqual(code('BAD_ARGUMENT'));
});
