// A fault of a request: the field, what it must be, and what it is, without the words of the library of the schemas.
import { json, post, served } from './serving.js';

const server = served();

const chat = (more: object) => ({ messages: [{ role: 'user', content: 'x' }], ...more });

const roles = "must be one of 'system', 'developer', 'user', 'assistant', 'tool'";

const cases: readonly (readonly [path: string, body: unknown, param: string | null, message: string])[] = [
  [
    '/v1/chat/completions',
    { messages: [{ role: 'bot', content: 'x' }] },
    'messages.0.role',
    `messages.0.role: ${roles}; got 'bot' (a string)`,
  ],
  [
    '/v1/chat/completions',
    { messages: [{ content: 'x' }] },
    'messages.0.role',
    `messages.0.role: missing; it ${roles}`,
  ],
  ['/v1/chat/completions', { messages: [] }, 'messages', 'messages: must have at least 1 item'],
  ['/v1/chat/completions', {}, 'messages', 'messages: missing; it must be a list'],
  [
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 5 }] },
    'messages.0.content',
    'messages.0.content: must be a string or a list; got 5',
  ],
  [
    '/v1/chat/completions',
    chat({ temperature: -3 }),
    'temperature',
    'temperature: must be 0 or more; got -3',
  ],
  [
    '/v1/chat/completions',
    chat({ temperature: 'hot' }),
    'temperature',
    "temperature: must be a number; got 'hot' (a string)",
  ],
  ['/v1/chat/completions', chat({ n: 1.5 }), 'n', 'n: must be a whole number; got 1.5'],
  ['/v1/chat/completions', chat({ stream: {} }), 'stream', 'stream: must be true or false; got an object'],
  ['/v1/chat/completions', chat({ stop: [1] }), 'stop', 'stop.0: must be a string; got 1'],
  [
    '/v1/chat/completions',
    chat({ tool_choice: 'maybe' }),
    'tool_choice',
    "tool_choice: must be one of 'none', 'auto', 'required' or an object; got 'maybe' (a string)",
  ],
  [
    '/v1/chat/completions',
    chat({ messages: [{ role: 'user', content: [{ type: 'foo' }] }] }),
    'messages.0.content',
    'messages.0.content.0: content parts must have the type text: this model reads no images, sounds or files',
  ],
  [
    '/v1/responses',
    { input: 'x', tools: [{ type: 'function' }] },
    'tools.0',
    'tools.0.name: missing; it must be a string',
  ],
  ['/v1/chat/completions', [], null, 'the body must be an object; got a list'],
];

test.each(cases)('%s %j', async (path, body, param, message) => {
  const response = await post(`${server.url}${path}`, body);
  const { error } = await json(response);
  expect([response.status, error.param]).toEqual([400, param]);
  expect(error.message).toBe(message);
});

test.each(['{x', ''])('%j is no JSON: no field is at fault', async (body) => {
  const response = await post(`${server.url}/v1/chat/completions`, body);
  const { error } = await json(response);
  expect([response.status, error.param, error.code]).toEqual([400, null, 'invalid_json']);
  expect(error.message).toMatch(/^the body is not JSON: /);
});
