// The scheduler by simulation: no device, no clock, no promises.
import { type KvBackend, KvCache } from '@quern/core';
import { rowsOf } from '../../src/engine/batch.js';
import { BlockManager } from '../../src/engine/block-manager.js';
import { type Schedule, Scheduler, type SchedulerLimits } from '../../src/engine/scheduler.js';
import type { Sequence } from '../../src/engine/sequence.js';
import { StepTimes } from '../../src/engine/step-times.js';

/** A cache without memory: only its blocks are counted. */
const noDevice: KvBackend = {
  name: 'none',
  kvBuffer: ({ dtype }) => ({
    ...{ kind: 'buffer', shape: [], dtype, byteLength: 0, disposed: false },
    readBlocks: () => Promise.resolve(new Uint8Array(0)),
    writeBlocks: () => Promise.resolve(),
    dispose() {},
    [Symbol.dispose]() {},
  }),
};
const blockSize = 4;

/** Numbers in [0, 1) from a seed (xorshift). */
function randomFrom(seed: number): () => number {
  let state = seed * 2654435761 + 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

interface Text {
  readonly arrives: number;
  readonly prompt: readonly number[];
  readonly count: number;
  readonly priority?: number;
  readonly reuse?: boolean;
  readonly group?: string | undefined;
  /** Steps after its arrival at which nobody wants it any more. */
  readonly aborts?: number | undefined;
  readonly drafts?: number;
}

interface World {
  readonly texts: readonly Text[];
  readonly blocks: number;
  readonly limits: SchedulerLimits;
  /** Milliseconds of a step of `rows` rows. */
  readonly time: (rows: number) => number;
  /** Called for each step, after its rows have been chosen. */
  readonly check?: (step: Schedule, blockManager: BlockManager, now: number) => void;
}

/** What happened to a text, in milliseconds. */
interface Told {
  readonly arrived: number;
  started?: number;
  readonly tokens: number[];
  ended?: number;
}

/** Runs a world to its end. */
function simulate({ texts, blocks, limits, time, check }: World) {
  const context = blocks * blockSize;
  const cache = KvCache.allocate(
    noDevice,
    { layers: 1, kvHeads: 1, headDim: 8, dtype: 'f32', context },
    blocks,
    blockSize,
  );
  const blockManager = new BlockManager(cache);
  const times = new StepTimes();
  const scheduler = new Scheduler(blockManager, times, limits);
  const requests = new Map<Sequence, { readonly text: Text; readonly told: Told; left: number }>();
  const arriving = [...texts].sort((a, b) => a.arrives - b.arrives);
  const told: Told[] = [];
  const log: string[] = [];
  const starts: Sequence[] = [];
  let now = 0;
  const request = (sequence: Sequence, ids: readonly number[], drafts: number): void => {
    for (const id of ids) sequence.tokens.push(id);
    sequence.outputs = 1 + drafts;
    sequence.since = now;
  };
  const arrive = (): void => {
    while (arriving.length > 0 && arriving[0]!.arrives <= now) {
      const text = arriving.shift()!;
      const sequence = blockManager.sequence(text);
      const it = { text, told: { arrived: now, tokens: [] }, left: text.count };
      told.push(it.told);
      requests.set(sequence, it);
      request(sequence, text.prompt, 0);
    }
  };
  const end = (sequence: Sequence): void => {
    requests.delete(sequence);
    blockManager.release(sequence);
  };
  /** As a request takes its outputs; half of the drafts are right. */
  const settle = (sequence: Sequence): void => {
    const it = requests.get(sequence)!;
    const drafts = sequence.outputs - 1;
    const right = drafts >> 1;
    if (drafts > 0) sequence.truncate(sequence.tokens.length - drafts + right);
    for (let i = 0; i <= right; i++) it.told.tokens.push(now);
    it.left -= right + 1;
    if (it.left <= 0) {
      it.told.ended = now;
      end(sequence);
      return;
    }
    requests.delete(sequence);
    requests.set(sequence, it); // the next request arrives last
    const more = Math.min(it.text.drafts ?? 0, it.left - 1);
    request(sequence, Array(1 + more).fill(1000 + it.told.tokens.length), more);
  };
  const run = (step: Schedule): void => {
    for (const [i, { start, tokens }] of step.batch.entries()) {
      const sequence = step.sequences[i]!;
      sequence.computed = start + tokens.length;
      sequence.steps--;
      blockManager.learn(sequence);
      if (sequence.computed === sequence.tokens.length) settle(sequence);
    }
  };
  for (let steps = 0; arriving.length > 0 || requests.size > 0; steps++) {
    if (steps > 20_000) throw new Error(`${requests.size} requests never end`);
    arrive();
    const step = scheduler.schedule([...requests.keys()], now);
    check?.(step, blockManager, now);
    for (const sequence of step.started) {
      if (sequence.startedAt === 0) starts.push(sequence);
      sequence.startedAt = 1;
      requests.get(sequence)!.told.started ??= now;
    }
    const rows = rowsOf(step.batch);
    log.push(
      step.batch.map(({ start, tokens }, i) => [step.sequences[i]!.order, start, tokens.length]).join(),
    );
    if (rows === 0) now = Math.max(now + 1, requests.size === 0 ? (arriving[0]?.arrives ?? 0) : 0);
    else {
      now += time(rows);
      times.learn(rows, time(rows), step.depth);
      run(step);
    }
    for (const [sequence, { text, told: it }] of requests)
      if (text.aborts !== undefined && now - it.arrived > text.aborts) end(sequence);
  }
  return { told, log, starts, blockManager, now };
}

const limits: SchedulerLimits = { sequences: 8, prefillChunk: 32, alone: false };
const device = (rows: number): number => 10 + rows;

/** Texts of all kinds: shared prefixes, priorities, groups, aborts, drafts. */
function randomTexts(random: () => number, count: number, longest: number): Text[] {
  const below = (most: number): number => Math.floor(random() * most);
  return Array.from({ length: count }, () => {
    const length = 1 + below(longest / 2);
    const prefix = below(3);
    return {
      arrives: below(2000),
      prompt: Array.from({ length }, (_, i) => (random() < 0.97 ? prefix * 100 + i : 5000 + below(9))),
      count: 1 + below(longest / 2),
      priority: below(3) - 1,
      reuse: random() < 0.7,
      group: random() < 0.3 ? `group ${below(2)}` : undefined,
      aborts: random() < 0.15 ? below(1500) : undefined,
      drafts: random() < 0.2 ? 1 + below(3) : 0,
    };
  });
}

const need = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

/** Every block is held, cached or free, and every row has its place. */
function needAccounts({ batch, sequences }: Schedule, blockManager: BlockManager): void {
  const held = new Set<number>();
  for (const { kv } of blockManager.holders) for (const block of kv.blockTable) held.add(block);
  need(held.size + blockManager.freeBlocks === blockManager.blocks, 'a block is lost, or held twice');
  need(new Set(sequences).size === sequences.length, 'a sequence is in the batch twice');
  for (const [i, { start, tokens, blocks, outputs }] of batch.entries()) {
    const { kv, tokens: all, outputs: wanted } = sequences[i]!;
    need(start + tokens.length === kv.length, 'rows that are not the last of their sequence');
    need(
      tokens.every((token, t) => token === all[start + t]),
      'other tokens',
    );
    need(blocks.length * blockSize >= kv.length, 'rows without a block');
    need(outputs === (kv.length === all.length ? wanted : 0), 'other outputs');
  }
}

describe('random arrivals, aborts, priorities and shortages', () => {
  test.each([
    ['mixed steps', limits],
    ['steps of one kind', { ...limits, alone: true }],
    ['a promise of 30 ms', { ...limits, itlTarget: 30 }],
    ['a first token within 100 ms', { ...limits, ttftTarget: 100 }],
  ])('%s: every request ends, budgets hold, no block leaks', (_, some) => {
    for (let seed = 1; seed <= 8; seed++) {
      const random = randomFrom(seed);
      const blocks = 12 + Math.floor(random() * 40);
      const texts = randomTexts(random, 60, blocks * blockSize - 8);
      const world = {
        ...{ texts, blocks, limits: some, time: device },
        check: (step: Schedule, blockManager: BlockManager) => {
          needAccounts(step, blockManager);
          const prompts = step.batch.filter(({ tokens, outputs }) => tokens.length > outputs);
          const rows = rowsOf(prompts);
          need(rows <= some.prefillChunk, 'more prompt tokens than a step has');
          need(!some.alone || rows === 0 || step.batch.length === 1, 'a prompt beside others');
          need(step.batch.length <= some.sequences, 'more sequences than a step has');
          need(rowsOf(step.batch) <= some.sequences + 3 + some.prefillChunk, 'more rows than a step has');
        },
      };
      const { told, blockManager, log } = simulate(world);
      expect(told).toHaveLength(60);
      for (const [i, { ended, tokens }] of told.entries()) {
        const text = [...texts].sort((a, b) => a.arrives - b.arrives)[i]!;
        if (text.aborts === undefined) {
          expect(ended).toBeDefined();
          expect(tokens.length).toBeGreaterThanOrEqual(text.count);
        }
      }
      expect(blockManager.freeBlocks).toBe(blocks);
      expect(blockManager.holders.size).toBe(0);
      expect(simulate(world).log).toEqual(log); // a pure function
    }
  });

  test('a batch is plain data: it could be sent to another process', () => {
    const batches: unknown[] = [];
    const check = ({ batch }: Schedule) => {
      expect(structuredClone(batch)).toEqual(batch);
      batches.push(batch);
    };
    simulate({ texts: randomTexts(randomFrom(3), 9, 80), blocks: 40, limits, time: device, check });
    expect(batches.length).toBeGreaterThan(20);
  });

  test('first come, first started within a priority', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = randomFrom(seed);
      const texts = randomTexts(random, 40, 80).map((text) => ({
        ...text,
        ...{ reuse: false, group: undefined, drafts: 0 },
      }));
      const { starts } = simulate({ texts, blocks: 30, limits, time: device });
      for (const priority of [-1, 0, 1]) {
        const orders = starts.filter((each) => each.priority === priority).map(({ order }) => order);
        expect(orders).toEqual([...orders].sort((a, b) => a - b));
      }
    }
  });

  test('nobody starves: a low priority starts within 10 s and the running texts, whatever comes', () => {
    const flood = Array.from({ length: 3000 }, (_, i) => ({
      ...{ arrives: 10 * i, prompt: Array(8).fill(i), count: 4, priority: 1, reuse: false },
    }));
    const low: Text = { arrives: 5, prompt: Array(20).fill(7), count: 4, priority: -1, reuse: false };
    const { told } = simulate({ texts: [low, ...flood], blocks: 12, limits, time: device });
    const it = told.find(({ arrived }) => arrived >= 5)!;
    const waited = Math.max(...told.map(({ arrived, started }) => started! - arrived));
    expect(it.ended).toBeDefined();
    expect(waited).toBeGreaterThan(10_000); // the flood is more than the device computes
  });
});

describe('the promise to those who decode', () => {
  const wide: SchedulerLimits = { sequences: 64, prefillChunk: 512, alone: false };
  /** Points [rows, milliseconds], with lines between them. */
  const linear =
    (points: readonly (readonly [number, number])[]) =>
    (rows: number): number => {
      const i = points.findIndex(([at]) => at >= rows);
      if (i <= 0) return points.at(i)![1];
      const [[x, y], [x2, y2]] = [points[i - 1]!, points[i]!];
      return y + ((rows - x) * (y2 - y)) / (x2 - x);
    };
  /** Qwen3-0.6B in Q4_K_M with AMX, two threads, as measured. */
  const amx = linear([
    [1, 13],
    [4, 17],
    [8, 21],
    [16, 34],
    [64, 53],
    [512, 275],
    [1024, 550],
  ]);
  /** The same with AVX2. */
  const avx2 = linear([
    [1, 27],
    [8, 60],
    [16, 95],
    [64, 200],
    [512, 1400],
    [1024, 2800],
  ]);
  const texts = (requests: number, prompt: number, apart = 0): Text[] =>
    Array.from({ length: requests }, (_, r) => ({
      ...{ arrives: r * apart, count: 64, reuse: false },
      prompt: Array.from({ length: prompt }, (_each, i) => r * 1000 + i),
    }));
  const blocks = 4096;

  /** Tokens per second of requests that come `apart` ms after each other. */
  const speed = (time: World['time'], requests: number, prompt: number, apart: number): number => {
    const warm = texts(requests, prompt).map((text) => ({ ...text, count: 8 }));
    const later = texts(requests, prompt, apart).map((text) => ({
      ...text,
      arrives: text.arrives + 100_000,
    }));
    const { now } = simulate({ texts: [...warm, ...later], blocks, limits: wide, time });
    return (1000 * 64 * requests) / (now - 100_000);
  };

  test.each([
    [1, 64, 33, 2],
    [4, 64, 70, 2.5],
    [16, 64, 131, 2.5],
    [32, 64, 152, 2.5],
  ])('AMX: %d requests of %d + 64 beside %d tokens/s of llama.cpp', (requests, prompt, peer, times) => {
    for (const apart of [0, 3, 20]) {
      const most = apart * requests > 300 ? 0.85 : 1; // the last ones are late
      expect(speed(amx, requests, prompt, apart)).toBeGreaterThanOrEqual(most * times * peer);
    }
  });

  /** The longest gap between tokens of a text beside a prompt of 4096 tokens, after the first ten of them. */
  const gapBeside = (time: World['time'], some: SchedulerLimits): number => {
    const talking: Text = { arrives: 0, prompt: [1, 2, 3], count: 800, reuse: false };
    const prompt = Array.from({ length: 4096 }, (_, i) => i);
    const world = {
      texts: [talking, { arrives: 500, prompt, count: 1, reuse: false }],
      blocks,
      limits: some,
      time,
    };
    const { tokens } = simulate(world).told[0]!;
    const gaps = tokens.slice(1).map((at, i) => at - tokens[i]!);
    return gaps.sort((a, b) => a - b)[Math.ceil(0.99 * gaps.length) - 1]!;
  };

  test('beside a long prompt: max(2 quiet steps, 50 ms), or the target', () => {
    expect(gapBeside(amx, wide)).toBeLessThanOrEqual(50);
    expect(gapBeside(amx, wide)).toBeGreaterThan(35); // pieces as large as the promise allows
    expect(gapBeside(avx2, wide)).toBeLessThanOrEqual(65); // 8 tokens are the fewest
    expect(gapBeside(amx, { ...wide, itlTarget: 100 })).toBeGreaterThan(80);
    expect(gapBeside(amx, { ...wide, itlTarget: 100 })).toBeLessThanOrEqual(100);
    expect(gapBeside(amx, { ...wide, itlTarget: 25 })).toBeLessThanOrEqual(25);
  });

  test('a target for first tokens makes the pieces larger, but not beyond a promise by itlTarget', () => {
    const first = (some: SchedulerLimits): number => {
      const talking: Text = { arrives: 0, prompt: [1, 2, 3], count: 800, reuse: false };
      const prompt = Array.from({ length: 2048 }, (_, i) => i);
      const { told } = simulate({
        texts: [talking, { arrives: 500, prompt, count: 1, reuse: false }],
        ...{ blocks, limits: some, time: amx },
      });
      return told[1]!.tokens[0]! - told[1]!.arrived;
    };
    const usual = first(wide);
    const quick = first({ ...wide, ttftTarget: 1500 });
    expect(usual).toBeGreaterThan(1500);
    expect(quick).toBeLessThanOrEqual(1500);
    expect(first({ ...wide, ttftTarget: 1500, itlTarget: 25 })).toBeGreaterThan(usual);
  });
});
