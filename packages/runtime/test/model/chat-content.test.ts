import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { type ChatMessage, type ChatOptions, ChatTemplate, loadModel, type Model } from '../../src/index.js';

let backend: Backend;
let model: Model;

beforeAll(async () => {
  backend = await createBackend();
  model = await loadModel('demo', { backend });
});

afterAll(() => {
  model.dispose();
  backend.dispose();
});

const chat = (content: string): ChatMessage[] => [{ role: 'user', content }];
const promptTokens = async (content: string, options: ChatOptions = {}) =>
  (await model.chat(chat(content), { maxTokens: 0, ...options }).result).promptTokens;

const spelling = '<|end|>';

test('a control token’s spelling in a message is tokenised as text', async () => {
  const asText = model.tokenize(spelling, { addBos: false }).length;
  expect(asText).toBeGreaterThan(1);
  expect(await promptTokens(spelling)).toBe((await promptTokens('')) + asText);
});

test('specialContent makes it one token, also in sessions', async () => {
  const empty = await promptTokens('');
  expect(await promptTokens(spelling, { specialContent: true })).toBe(empty + 1);
  using session = model.session();
  const counts = [false, true].map(async (specialContent) => {
    const { promptTokens: count } = await session.chat(chat(spelling), { maxTokens: 0, specialContent })
      .result;
    return count - empty;
  });
  expect(await counts[0]).toBeGreaterThan(1);
  expect(await counts[1]).toBe(1);
});

test('generate treats a prompt as text, unless special allows control tokens', async () => {
  const count = async (special?: boolean) =>
    (
      await model.generate(`fox${spelling}`, { maxTokens: 0, ...(special !== undefined && { special }) })
        .result
    ).promptTokens;
  expect(await count()).toBe(await count(false));
  expect(await count(true)).toBeLessThan(await count(false));
});

describe('answerStart', () => {
  const story = chat('Tell me a story.');

  test('the model continues it: the rest of the same answer', async () => {
    const { text } = await model.chat(story, { temperature: 0, maxTokens: 8 }).result;
    const answerStart = text.slice(0, text.indexOf(' ', 4)); // the rest begins with a space
    const rest = await model.chat(story, { temperature: 0, maxTokens: 3, answerStart }).result;
    expect(rest.text).toMatch(/^ /);
    expect(text.startsWith(answerStart + rest.text)).toBe(true);
    expect(rest.messages).toEqual([{ role: 'assistant', content: answerStart + rest.text }]);
    const begun = await model.chatTokens(story, { answerStart });
    expect(model.detokenize(begun)).toBe(model.detokenize(await model.chatTokens(story)) + answerStart);
  });

  test('a control token’s spelling in it is text', async () => {
    const [empty, spelled] = [
      await model.chatTokens(story),
      await model.chatTokens(story, { answerStart: spelling }),
    ];
    expect(spelled.length - empty.length).toBe(model.tokenize(spelling, { addBos: false }).length);
  });

  test.each([
    [{ schema: { type: 'object' } }, 'schema'],
    [{ tools: [{ type: 'function', function: { name: 'a' } }] }, 'tools'],
  ] as const)('refuses %o beside it', (options, name) => {
    const call = () => model.chat(story, { ...options, answerStart: 'Once' });
    expect(call).toThrow(`options answerStart and ${name} exclude each other`);
  });

  test('behind a template that opens thoughts, they are closed first', () => {
    const template = ChatTemplate.from(
      "{{ messages[0].content }}{{ '<think>\\n' if add_generation_prompt }}",
    );
    expect(template.render(chat('Hi '), { answerStart: 'Well' })).toBe('Hi <think>\n\n</think>\n\nWell');
  });
});
