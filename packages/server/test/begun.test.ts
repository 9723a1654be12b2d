import { loadModel } from '@quern/runtime';
import { allBegun, begun } from '../src/chat/begun.js';
import { createHandler } from '../src/index.js';
import { demo, json, post, served } from './serving.js';

const collected = async (source: AsyncIterable<number>) => {
  const values: number[] = [];
  for await (const value of source) values.push(value);
  return values;
};

describe('begun', () => {
  async function* counting(ended: string[], name: string, fails = -1): AsyncGenerator<number> {
    try {
      for (let i = 0; i < 3; i++) {
        if (i === fails) throw new Error(`${name} failed`);
        yield i;
      }
    } finally {
      ended.push(name);
    }
  }

  test('the same values', async () => {
    const [one, two] = await allBegun([counting([], 'a'), counting([], 'b')]);
    expect(await Promise.all([collected(one!), collected(two!)])).toEqual([
      [0, 1, 2],
      [0, 1, 2],
    ]);
  });

  test('what fails before its first value rejects, and the others end', async () => {
    const ended: string[] = [];
    const sources = [counting(ended, 'a'), counting(ended, 'b', 0)];
    await expect(allBegun(sources)).rejects.toThrow('b failed');
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended.sort()).toEqual(['a', 'b']);
    const late = await begun(counting(ended, 'c', 1));
    await expect(collected(late)).rejects.toThrow('c failed');
  });

  test('whoever leaves ends the source', async () => {
    const ended: string[] = [];
    for await (const value of await begun(counting(ended, 'a'))) if (value === 0) break;
    expect(ended).toEqual(['a']);
  });

  test('after five seconds the wait ends; an error comes to whoever reads', async () => {
    import.meta.jest.useFakeTimers();
    try {
      let fail = (_error: Error): void => {};
      const slow: AsyncIterable<number> = {
        [Symbol.asyncIterator]: () => ({
          next: () =>
            new Promise((_, reject) => {
              fail = reject;
            }),
        }),
      };
      const waiting = begun(slow);
      await import.meta.jest.advanceTimersByTimeAsync(5000);
      const reading = collected(await waiting);
      fail(new Error('too late'));
      await expect(reading).rejects.toThrow('too late');
    } finally {
      import.meta.jest.useRealTimers();
    }
  });
});

describe('errors before the first token of a stream have their status', () => {
  const server = served(async () => {
    const options = { backend: 'cpu', context: 128, sequences: 1, maxQueue: 0 } as const;
    return loadModel(demo, { ...options, onNotice: () => {} });
  });

  const long = [{ role: 'user', content: 'the fox '.repeat(400) }];
  const hi = [{ role: 'user', content: 'hi' }];
  const tools = [{ type: 'function', function: { name: 'a' } }];
  test.each([
    ['chat/completions', { messages: long }, 'too many for the context of 128'],
    ['chat/completions', { messages: long, n: 3 }, 'too many for the context of 128'],
    [
      'chat/completions',
      { messages: hi, response_format: { type: 'regex', regex: '(' } },
      'group without end',
    ],
    ['chat/completions', { messages: hi, tools }, 'ignores tools'],
    ['completions', { prompt: 'the fox '.repeat(400) }, 'too many for the context of 128'],
    ['completions', { prompt: ['hi', 'the fox '.repeat(400)] }, 'too many for the context of 128'],
    ['responses', { input: hi, tools: tools.map((tool) => ({ ...tool, name: 'a' })) }, 'ignores tools'],
    ['messages', { messages: long, max_tokens: 5 }, 'too many for the context of 128'],
  ])('/v1/%s %#', async (path, body, message) => {
    const response = await post(`${server.url}/v1/${path}`, { ...body, stream: true });
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json']);
    expect((await json(response)).error.message).toContain(message);
  });

  // One handler without a network: all three have asked before the first token exists, however busy the machine is.
  test('a full queue: 429; its room is free afterwards', async () => {
    const handler = createHandler({ models: { demo: server.model } });
    const ask = (i: number) =>
      handler.fetch(
        new Request('http://x/v1/completions', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ prompt: `${i} the fox`.repeat(30), max_tokens: 8, stream: true }),
        }),
      );
    const all = await Promise.all([1, 2, 3].map(ask));
    const statuses = all.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 429, 429]);
    await Promise.all(all.map((response) => response.text()));
    expect([handler.running, server.model.freeBlocks]).toEqual([0, server.model.stats().blocks]);
  });
});
