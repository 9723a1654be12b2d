// Calls that wait for room in the cache, and calls that hold it.
import { getEventListeners } from 'node:events';
import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { type GenerateOptions, type LoadOptions, loadModel, type Model } from '../../src/index.js';
import { hasCpu } from '../backends.js';
import { collectGarbage } from '../collect-garbage.js';
import { writeTinyModel } from '../tiny-model.js';
import { warningsOf } from '../warnings.js';

let backend: Backend;
let path: string;
beforeAll(async () => {
  backend = await createBackend();
  path = await writeTinyModel();
});
afterAll(() => backend.dispose());

const greedy: GenerateOptions = { temperature: 0, ignoreEos: true, maxTokens: 8 };
/** As long as the context: a call takes the room of a sequence at once. */
const blockSize = 96;
const load = (options: LoadOptions = {}) =>
  loadModel(path, { backend, blockSize, onNotice: () => {}, ...options });

/** A generation after its first piece; it holds its sequence until it is read further. */
async function begun(model: Pick<Model, 'generate'>, options: GenerateOptions = greedy) {
  const reader = model.generate('the cat', options)[Symbol.asyncIterator]();
  await reader.next();
  return reader;
}

describe('unreachable objects give their memory back', () => {
  test('an unreachable generation: a call that waits for its sequence continues', async () => {
    using model = await load();
    const expected = await model.generate('a dog', greedy).result;
    await begun(model);
    expect(model.freeBlocks).toBe(0);
    let served = false;
    const waiting = model.generate('a dog', greedy).result.then((result) => {
      served = true;
      return result;
    });
    await collectGarbage(() => served);
    expect((await waiting).tokens).toEqual(expected.tokens);
    expect(model.freeBlocks).toBe(1);
  });

  test('an unreachable reader: the result has the text so far', async () => {
    using model = await load();
    const generation = model.generate('the cat', greedy);
    await generation[Symbol.asyncIterator]().next();
    await collectGarbage(() => model.freeBlocks === 1);
    expect(model.freeBlocks).toBe(1);
    const { reason, tokens } = await generation.result;
    expect([reason, tokens.length]).toEqual(['abort', 1]);
  });

  test('an unreachable generator around a generation', async () => {
    using model = await load();
    async function* words() {
      for await (const { text } of model.generate('the cat', greedy)) yield text;
    }
    await words().next();
    await collectGarbage(() => model.freeBlocks === 1);
    expect(model.freeBlocks).toBe(1);
  });

  test('speculation with a draft model: both sequences', async () => {
    using model = await load();
    using small = await load();
    const speculate = { kind: 'draft', model: small, adaptive: false } as const;
    await (await begun(model, { ...greedy, maxTokens: 20, speculate })).next();
    expect([model.freeBlocks, small.freeBlocks]).toEqual([0, 0]);
    await collectGarbage(() => model.freeBlocks + small.freeBlocks === 2);
    expect([model.freeBlocks, small.freeBlocks]).toEqual([1, 1]);
  });

  test('a generation is not collected while it is read', async () => {
    using model = await load();
    const expected = (await model.generate('the cat', greedy).result).text;
    let text = '';
    for await (const piece of model.generate('the cat', greedy)) {
      text += piece.text;
      await collectGarbage(() => false, 1);
    }
    expect(text).toBe(expected);
  });
});

describe('a call that waits', () => {
  test('reports after 1 s, once, to onNotice or as a warning', async () => {
    const notices: string[] = [];
    using model = await load({ onNotice: (text) => notices.push(text) });
    const reader = await begun(model);
    const waiting = model.generate('a dog', greedy).result;
    const behind = model.generate('a dog', greedy).result;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(notices).toEqual([
      expect.stringMatching(
        /^a call waits for room in the cache: it needs 96 tokens of context, and 1 call holds 96 of 96\. What helps: .*`sequences`/,
      ),
      expect.stringMatching(/with 1 more before it/),
    ]);
    await reader.return?.();
    expect((await waiting).reason).toBe('length');
    expect((await behind).reason).toBe('length');
    expect(notices).toHaveLength(2);

    const silent = await loadModel(path, { backend, blockSize });
    const { warnings } = await warningsOf(async () => {
      const held = await begun(silent);
      const pending = silent.logits([1, 5]);
      await new Promise((resolve) => setTimeout(resolve, 1200));
      await held.return?.();
      await pending;
    });
    silent.dispose();
    expect(warnings).toEqual([expect.stringContaining('a call waits for room')]);
  });

  test.each([0, 30])('waits at most maxWaitMs: %d ms', async (maxWaitMs) => {
    using model = await load({ sequences: 2 });
    const readers = [await begun(model), await begun(model)];
    await expect(model.generate('a dog', { ...greedy, maxWaitMs }).result).rejects.toMatchObject({
      code: 'BUSY',
      message: expect.stringMatching(
        `^no room in the cache within ${maxWaitMs} ms: it needs \\d+ tokens of context, and 2 calls hold \\d+ of 192\\. What helps`,
      ),
    });
    using session = model.session();
    await expect(session.generate('a dog', { ...greedy, maxWaitMs }).result).rejects.toMatchObject({
      code: 'BUSY',
    });
    for (const reader of readers) await reader.return?.();
    expect((await model.generate('a dog', { ...greedy, maxWaitMs }).result).reason).toBe('length');
    expect((await session.generate('a dog', { ...greedy, maxWaitMs }).result).reason).toBe('length');
  });

  test('a call that waits for the draft model returns its own sequence', async () => {
    using model = await load();
    using small = await load();
    const reader = await begun(small);
    const speculate = { kind: 'draft', model: small, adaptive: false } as const;
    const options = { ...greedy, maxTokens: 20, maxWaitMs: 20, speculate };
    await expect(model.generate('a dog', options).result).rejects.toMatchObject({ code: 'BUSY' });
    expect(model.freeBlocks).toBe(1);
    await reader.return?.();
  });

  test.each([-1, Number.NaN, '5' as never])('maxWaitMs of %p is refused', async (maxWaitMs) => {
    using model = await load();
    expect(() => model.generate('a dog', { maxWaitMs })).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('maxWaitMs') }),
    );
  });

  test('a maxWaitMs of years means no limit', async () => {
    using model = await load();
    const reader = await begun(model);
    const waiting = model.generate('a dog', { ...greedy, maxWaitMs: 2 ** 40 }).result;
    await new Promise((resolve) => setTimeout(resolve, 20));
    await reader.return?.();
    expect((await waiting).reason).toBe('length');
  });

  test('ends at an abort: only this call, at any place in the queue', async () => {
    using model = await load();
    const reader = await begun(model);
    const aborts = [new AbortController(), new AbortController(), new AbortController()];
    const all = aborts.map(({ signal }) => model.generate('a dog', { ...greedy, signal }).result);
    const logits = model.logits([1, 5], { signal: aborts[1]!.signal });
    logits.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    aborts[1]!.abort();
    expect((await all[1])!.reason).toBe('abort');
    await expect(logits).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(model.logits([1, 5], { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    await reader.return?.();
    for (const i of [0, 2]) expect((await all[i]!).reason).toBe('length');
    expect(model.freeBlocks).toBe(1);
  });

  test('ends when its reader leaves: a stream that is cancelled returns before its piece comes', async () => {
    using model = await load();
    using small = await load();
    const reader = await begun(model);
    const generation = model.generate('a dog', greedy);
    const waiting = generation[Symbol.asyncIterator]();
    const piece = waiting.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await waiting.return?.()).toEqual({ done: true, value: undefined });
    expect(await piece).toEqual({ done: true, value: undefined });
    expect(await generation.result).toMatchObject({ reason: 'abort', tokens: [] });
    await reader.return?.();
    expect(model.freeBlocks).toBe(1);

    const speculate = { kind: 'draft', model: small, adaptive: false } as const;
    const holder = await begun(small);
    const drafting = await begun(model, { ...greedy, maxTokens: 20, speculate });
    const next = drafting.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await drafting.return?.();
    expect((await next).done).toBe(true);
    await holder.return?.();
    expect([model.freeBlocks, small.freeBlocks]).toEqual([1, 1]);
  });

  test('ends when the model is disposed', async () => {
    const model = await load();
    await begun(model);
    using session = model.session();
    const all = [
      model.generate('a dog', greedy).result,
      session.generate('a dog', { ...greedy, maxWaitMs: 60_000 }).result,
      model.logits([1, 5]),
    ];
    for (const each of all) each.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    model.dispose();
    for (const each of all) await expect(each).rejects.toMatchObject({ code: 'DISPOSED' });
  });

  test('ends when its session is disposed', async () => {
    using model = await load();
    const reader = await begun(model);
    const session = model.session();
    const waiting = session.generate('a dog', greedy).result;
    waiting.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 20));
    session.dispose();
    await reader.return?.();
    await expect(waiting).rejects.toMatchObject({ code: 'DISPOSED' });
    expect(model.freeBlocks).toBe(1);
  });
});

test('a long-lived signal: 500 calls leave no listener', async () => {
  using quick = hasCpu ? await (await import('@quern/backend-cpu')).createBackend() : await createBackend();
  using model = await load({ backend: quick, sequences: 4 });
  const { signal } = new AbortController();
  const call = (i: number) =>
    model.generate('the', { ...greedy, maxTokens: 1 + (i % 3), signal, ...(i % 2 && { temperature: 1 }) })
      .result;
  const listeners = () => getEventListeners(signal, 'abort').length;
  for (let i = 0; i < 500; i += 50) {
    const calls = Array.from({ length: 50 }, (_, j) => call(i + j));
    await new Promise((resolve) => setImmediate(resolve));
    expect(listeners()).toBeLessThan(2); // Node warns at more than ten
    await Promise.all(calls);
    expect(listeners()).toBeLessThan(2);
  }
  model.dispose();
  expect(listeners()).toBe(0);
}, 120_000);
