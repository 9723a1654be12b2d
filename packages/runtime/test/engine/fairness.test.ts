// A request of many texts beside one of a single text, on a simulated device with a clock of its own.
import { createBackend } from '@quern/backend-reference';
import { type Backend, KvCache } from '@quern/core';
import { rowsOf } from '../../src/engine/batch.js';
import { BlockManager } from '../../src/engine/block-manager.js';
import { Request } from '../../src/engine/request.js';
import type { SampledToken } from '../../src/engine/sampling/params.js';
import { Scheduler } from '../../src/engine/scheduler.js';
import type { Sequence } from '../../src/engine/sequence.js';
import { StepTimes } from '../../src/engine/step-times.js';
import { greedy } from './requests.js';

let backend: Backend;
beforeAll(async () => {
  backend = await createBackend();
});
afterAll(() => backend.dispose());

const sequences = 64;
const prefillChunk = 512;
const blockSize = 16;

/** Milliseconds of a step of `rows` rows: bound by the weights' bytes, then by arithmetic. */
type Device = (rows: number) => number;
const cpu: Device = (rows) => Math.max(30, 4 * rows);
/** Qwen3-0.6B in Q4_K_M by AVX-512 on two cores: little more for each row. */
const wideCpu: Device = (rows) => Math.max(10, 6.7 + 0.85 * rows);
const gpu: Device = (rows) => 10 + rows / 20;

interface Text {
  readonly prompt: number;
  readonly tokens: number;
  readonly group?: string;
}

/** A cache of 4096 tokens and its scheduling; steps take the time that `device` says. */
function simulation(device: Device) {
  const shape = { layers: 1, kvHeads: 1, headDim: 8, dtype: 'f32', context: 2048 } as const;
  const blockManager = new BlockManager(KvCache.allocate(backend, shape, 4096 / blockSize, blockSize));
  const times = new StepTimes();
  const scheduler = new Scheduler(blockManager, times, { sequences, prefillChunk, alone: false });
  const requests = new Map<Sequence, Request>();
  let clock = 0;
  let serial = 0;

  /** Computes a text; resolves with its milliseconds. */
  const text = ({ prompt, tokens, group }: Text) => {
    const sequence = blockManager.sequence({ reuse: false, group });
    const from = clock;
    return new Promise<number>((resolve, reject) => {
      const request = (ids: readonly number[], left: number): void => {
        const settle = ([found]: readonly SampledToken[]) => {
          if (left > 1) return request([found!.token], left - 1);
          blockManager.release(sequence);
          resolve(clock - from);
        };
        const stops = new Int32Array(0);
        const what = { sequence, ids, sampling: greedy, most: 1, stops, signal: undefined };
        const leave = () => requests.delete(sequence);
        requests.set(sequence, new Request(what, settle, reject, undefined, leave));
        sequence.since = clock;
      };
      request(
        Array.from({ length: prompt }, () => serial++),
        tokens,
      );
    });
  };

  /** One step, and what its callers then request. False where nothing can be computed. */
  const step = async (): Promise<boolean> => {
    const { batch, sequences: own, depth } = scheduler.schedule([...requests.keys()], clock);
    const count = rowsOf(batch);
    clock += count > 0 ? device(count) : 1;
    if (count > 0) times.learn(count, device(count), depth);
    for (const [i, { start, tokens }] of batch.entries()) {
      const request = requests.get(own[i]!)!;
      request.settle([{ best: Int32Array.of(1), logits: undefined }], start + tokens.length);
      request.leaveStep();
    }
    await Promise.resolve();
    return count > 0;
  };

  /** Steps until the texts have ended; `beside` is called before each. */
  const run = async (texts: readonly Promise<unknown>[], beside = (_now: number): void => {}) => {
    let ended = false;
    void Promise.all(texts).then(() => {
      ended = true;
    });
    while (!ended) {
      beside(clock);
      await step();
    }
    return clock;
  };
  /** Steps of many sizes, so that their times are known. */
  const warm = async () => {
    for (const count of [1, 2, 4, 16, 64]) await run(Array.from({ length: count }, () => text(short)));
    return run([text({ prompt: 1800, tokens: 2 })]);
  };
  return { text, run, warm };
}

/** Times of a client that requests `small` again and again, 100 ms after each answer, while `texts` are computed. */
async function besides(device: Device, texts: readonly Text[], small: Text) {
  const { text, run, warm } = simulation(device);
  const begin = await warm();
  const taken: number[] = [];
  let next = 0;
  const end = await run(texts.map(text), (now) => {
    if (now < next) return;
    next = Number.POSITIVE_INFINITY;
    void text(small).then((ms) => {
      taken.push(ms);
      next = now + ms + 100;
    });
  });
  return { total: end - begin, taken: taken.sort((a, b) => a - b) };
}

const p99 = (sorted: readonly number[]): number => sorted[Math.ceil(0.99 * sorted.length) - 1]!;

/** Milliseconds of the texts without others. */
async function quiet(device: Device, texts: readonly Text[]): Promise<number> {
  const { text, run, warm } = simulation(device);
  const begin = await warm();
  return (await run(texts.map(text))) - begin;
}

const short = { prompt: 8, tokens: 2 };
const chat = { prompt: 400, tokens: 20 };
const many = (count: number, text: Text, group = 'many') =>
  Array.from({ length: count }, () => ({ ...text, group }));
const shortTexts = many(512, { prompt: 8, tokens: 50 });
const longTexts = many(40, { prompt: 1800, tokens: 8 });

describe.each(Object.entries({ cpu, wideCpu, gpu }))('on a %s', (_, device) => {
  test.each([
    ['512 short texts, beside short ones', shortTexts, short],
    ['40 long texts, beside short ones', longTexts, short],
    ['512 short texts, beside chats', shortTexts, chat],
    ['40 long texts, beside chats', longTexts, chat],
  ])('%s: another client waits at most twice as long, and they lose little', async (_, texts, small) => {
    const { taken, total } = await besides(device, texts, small);
    expect(taken.length).toBeGreaterThan(10);
    expect(p99(taken) / (await quiet(device, [small]))).toBeLessThanOrEqual(2);
    expect(total / (await quiet(device, texts))).toBeLessThanOrEqual(2.6);
  });

  test('the last of many texts take no more than their share', async () => {
    const small = { prompt: 17, tokens: 2 };
    const { taken } = await besides(device, many(256, { prompt: 2, tokens: 12 }), small);
    expect(taken.at(-1)! / (await quiet(device, [small]))).toBeLessThanOrEqual(2);
  });

  test('two requests of many texts get nearly the same share', async () => {
    const { text, run, warm } = simulation(device);
    await warm();
    const [first, second] = ['first', 'second'].map((group) =>
      Promise.all(many(200, { prompt: 8, tokens: 20 }, group).map(text)),
    );
    await run([first!, second!]);
    const [a, b] = (await Promise.all([first!, second!])).map((times) => Math.max(...times));
    expect(Math.abs(a! - b!) / Math.max(a!, b!)).toBeLessThan(0.15);
  });
});
