// Every field of every request with values of every JSON type: 400 that names the field, in the shape of the route's clients.
import type { Model } from '@quern/runtime';
import type { z } from 'zod';
import { createHandler, type Handler } from '../src/index.js';
import { countRequest, messagesRequest } from '../src/requests/anthropic.js';
import { chatRequest } from '../src/requests/chat.js';
import { completionRequest } from '../src/requests/completion.js';
import { nativeRequest } from '../src/requests/native.js';
import {
  ollamaChatRequest,
  ollamaGenerateRequest,
  ollamaPullRequest,
  ollamaShowRequest,
} from '../src/requests/ollama.js';
import { responsesRequest } from '../src/requests/responses.js';
import { json, loadDemo } from './serving.js';

let model: Model;
let handler: Handler;
beforeAll(async () => {
  model = await loadDemo();
  handler = createHandler({ models: { demo: model }, strict: true });
});
afterAll(() => model.dispose());

type Api = 'openai' | 'anthropic' | 'ollama';

const messages = [{ role: 'user', content: 'hi' }];
const routes: readonly (readonly [path: string, api: Api, schema: z.ZodObject, body: object])[] = [
  ['/v1/chat/completions', 'openai', chatRequest, { messages, max_tokens: 1 }],
  ['/v1/completions', 'openai', completionRequest, { prompt: 'hi', max_tokens: 1 }],
  ['/v1/responses', 'openai', responsesRequest, { input: 'hi', max_output_tokens: 1 }],
  ['/completion', 'openai', nativeRequest, { prompt: 'hi', n_predict: 1 }],
  ['/v1/messages', 'anthropic', messagesRequest, { model: 'demo', messages, max_tokens: 1 }],
  ['/v1/messages/count_tokens', 'anthropic', countRequest, { model: 'demo', messages }],
  ['/api/chat', 'ollama', ollamaChatRequest, { model: 'demo', messages, options: { num_predict: 1 } }],
  [
    '/api/generate',
    'ollama',
    ollamaGenerateRequest,
    { model: 'demo', prompt: 'hi', options: { num_predict: 1 } },
  ],
  ['/api/show', 'ollama', ollamaShowRequest, { model: 'demo' }],
  ['/api/pull', 'ollama', ollamaPullRequest, { model: 'demo' }],
];

/** One value of each JSON type, and what JavaScript makes of large and broken ones. */
const values: readonly string[] = [
  'null',
  'true',
  '-7.5',
  '1e999',
  '"\\ud800"',
  '[[true]]',
  '{"__proto__": {"x": 1}}',
];

/** What the library of the schemas would say. */
const wordsOfZod =
  /Invalid (input|option|discriminator|value|key)|Too (small|big)|\bexpected\b|\breceived\b|another value/;

const send = (path: string, api: Api, body: string) => {
  const headers = {
    'content-type': 'application/json',
    ...(api === 'anthropic' && { 'anthropic-version': '2023-06-01' }),
  };
  return handler.fetch(new Request(`http://x${path}`, { method: 'POST', headers, body }));
};

/** The body's text with one field's JSON replaced. */
const withField = (body: object, field: string, value: string): string => {
  const others = Object.entries(body).filter(([name]) => name !== field);
  return `{${[...others.map(([name, each]) => `${JSON.stringify(name)}:${JSON.stringify(each)}`), `${JSON.stringify(field)}:${value}`].join()}}`;
};

// biome-ignore lint/suspicious/noExplicitAny: the shapes differ
const faultOf: Record<Api, (answer: any) => string> = {
  openai: ({ error, ...more }) => {
    expect(more).toEqual({});
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
    return error.message;
  },
  anthropic: ({ type, error, request_id }) => {
    expect([type, typeof error.type, typeof request_id]).toEqual(['error', 'string', 'string']);
    return error.message;
  },
  ollama: ({ error, ...more }) => {
    expect(more).toEqual({});
    return error;
  },
};

test.each(routes)('%s (%s)', async (path, api, schema, body) => {
  let refused = 0;
  for (const [field, rule] of Object.entries(schema.shape as Record<string, z.ZodType>))
    for (const value of values) {
      const response = await send(path, api, withField(body, field, value));
      const what = `${field}: ${value}`;
      const isWrong = value !== '1e999' && !rule.safeParse(JSON.parse(value)).success;
      if (isWrong) expect([what, response.status]).toEqual([what, 400]);
      if (response.ok) {
        await response.text();
        continue;
      }
      expect([what, response.status < 500 || response.status === 501]).toEqual([what, true]);
      const message = faultOf[api](await json(response));
      expect([what, typeof message, message.length > 0]).toEqual([what, 'string', true]);
      if (isWrong) expect(message).toContain(field);
      expect(message).not.toMatch(wordsOfZod);
      refused++;
    }
  expect(refused).toBeGreaterThan(5);
  expect(({} as { x?: unknown }).x).toBeUndefined();
  expect(handler.running).toBe(0);
  expect(model.freeBlocks).toBe(model.stats().blocks);
});
