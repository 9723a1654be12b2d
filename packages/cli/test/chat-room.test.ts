// Where the context is full, the oldest turns go, and the answer has room.
import type { ChatMessage, Model } from '@quern/runtime';
import { Conversation } from '../src/chat/conversation.js';

// Jest's reporter replaces the method where it runs tests in its own process, and calls no callback.
const { write } = process.stdout;
beforeAll(() => {
  const swallow = (_text: unknown, callback: unknown) => {
    if (typeof callback === 'function') callback();
    return true;
  };
  process.stdout.write = swallow;
});
afterAll(() => {
  process.stdout.write = write;
});

/** A model whose messages have 10 tokens each, in a context of 100; every answer is "a". */
function modelOf(prompts: number[]): Model {
  const chat = (messages: readonly ChatMessage[]) => {
    prompts.push(10 * messages.length);
    const result = Promise.resolve({ text: 'a', reason: 'eos' });
    return { result, async *[Symbol.asyncIterator]() {} };
  };
  const chatTokens = async ({ length }: readonly ChatMessage[]) => new Array<number>(10 * length).fill(0);
  return Object.assign(Object.create(null) as Model, {
    context: 100,
    chatTokens,
    session: () => ({ chat, dispose() {} }),
  });
}

test.each([
  [{}, [10, 30, 50, 70, 50, 70, 50]],
  [{ maxTokens: 10 }, [10, 30, 50, 70, 90, 70, 90]],
  [{ maxTokens: 500, system: 'x' }, [20, 40, 60, 40, 60, 40, 60]],
])('%j: tokens of the prompts', async (flags, expected) => {
  const prompts: number[] = [];
  const conversation = new Conversation(modelOf(prompts), flags);
  for (const _ of expected) await conversation.answer('b', new AbortController().signal);
  expect(prompts).toEqual(expected);
});
