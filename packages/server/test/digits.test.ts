// Numbers keep their digits on every way through the routes; calls in the history.
import type { Model } from '@quern/runtime';
import type { RunningServer } from '../src/index.js';
import { hermesTemplate } from './hermes-template.mjs';
import { json, loadDemo, post, serving } from './serving.js';

let model: Model;
let server: RunningServer;
const seen: unknown[] = [];
beforeAll(async () => {
  model = await loadDemo(1, { chatTemplate: hermesTemplate, context: 1024 });
  const chat = model.chat.bind(model);
  model.chat = ((...args: Parameters<Model['chat']>) => {
    seen.push(args[0]);
    return chat(...args);
  }) as Model['chat'];
  server = await serving(model);
});
afterAll(async () => {
  await server.close();
  model.dispose();
});

const ID = '1234567890123456789';
const parameters = `{"type": "object", "properties": {"id": {"type": "integer", "minimum": ${ID}, "maximum": ${ID}}, "x": {"enum": [0.12345678901234567891]}}, "required": ["id", "x"], "additionalProperties": false}`;
const args = { id: ID, x: '0.12345678901234567891' };
const text = async (path: string, body: string): Promise<string> => {
  const response = await post(`${server.url}/v1/${path}`, body);
  const all = await response.text();
  expect({ path, status: response.status, all }).toMatchObject({ status: 200 });
  return all;
};

const ask = `"model": "demo", "temperature": 1.0, "seed": 1, "max_tokens": 200, "messages": [{"role": "user", "content": "Go"}]`;

test('chat completions: schemas of tools', async () => {
  const tool = `{"type": "function", "function": {"name": "f", "parameters": ${parameters}}}`;
  const called = await text(
    'chat/completions',
    `{${ask}, "tools": [${tool}], "tool_choice": "required", "parallel_tool_calls": false}`,
  );
  expect(called).toContain(String.raw`\"id\": ${args.id}`);
  expect(called).toContain(String.raw`\"x\": ${args.x}`);
}, 60_000);

test('chat completions: formats', async () => {
  const format = `{"type": "json_schema", "json_schema": {"schema": {"enum": [${ID}]}}}`;
  const written = await text('chat/completions', `{${ask}, "response_format": ${format}}`);
  expect(written).toContain(`"content":"${ID}"`);
});

test('messages: the input of a call, in both directions', async () => {
  const ask = (more: string, messages: string) =>
    `{"model": "demo", "max_tokens": 200, "messages": [${messages}], "tools": [{"name": "f", "input_schema": ${parameters}}] ${more}}`;
  const question = '{"role": "user", "content": "Go"}';
  const forced = ', "tool_choice": {"type": "tool", "name": "f"}';
  expect(await text('messages', ask(forced, question))).toMatch(new RegExp(`"input":{[^}]*"id":${ID}[,}]`));
  const use = `{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"id": ${ID}, "x": 1.0}}]}`;
  const result =
    '{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]}';
  await text('messages', ask(', "tool_choice": {"type": "none"}', `${question}, ${use}, ${result}`));
  expect(seen.at(-1)).toContainEqual(
    expect.objectContaining({
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: `{"id":${ID},"x":1.0}` } }],
    }),
  );
});

test.each([false, true])('responses show the tools and formats that they got, stream %s', async (stream) => {
  const tool = `{"type": "function", "name": "f", "parameters": ${parameters}}`;
  const schema = `{"format": {"type": "json_schema", "schema": {"type": "integer", "maximum": ${ID}, "minimum": 1.0}}}`;
  const ask = `"model": "demo", "input": "Go", "max_output_tokens": 2, "stream": ${stream}`;
  const tools = await text('responses', `{${ask}, "tools": [${tool}]}`);
  expect(tools).toContain(`"minimum":${ID},"maximum":${ID}`);
  expect(tools).toContain(`"enum":[${args.x}]`);
  expect(await text('responses', `{${ask}, "text": ${schema}}`)).toContain(`"maximum":${ID},"minimum":1.0`);
});

test('numbers of other fields are as before', async () => {
  const body = (more: string) =>
    `{"model": "demo", "messages": [{"role": "user", "content": "Go"}], "max_tokens": ${more}}`;
  expect(
    (await json(await post(`${server.url}/v1/chat/completions`, body('2.0')))).usage.completion_tokens,
  ).toBe(2);
  const response = await post(`${server.url}/v1/chat/completions`, body('12345678901234567890'));
  expect([response.status, (await json(response)).error.param]).toEqual([400, 'max_tokens']);
});

describe('calls in the history', () => {
  const chat = (calls: unknown) => ({
    model: 'demo',
    max_tokens: 1,
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: 'So.', tool_calls: calls },
      ...(Array.isArray(calls) && calls.length > 0
        ? [{ role: 'tool', content: 'ok', tool_call_id: 'a' }]
        : []),
    ],
  });
  const calling = (args: string) => [{ id: 'a', type: 'function', function: { name: 'f', arguments: args } }];
  const responses = (args: string) => ({
    model: 'demo',
    max_output_tokens: 1,
    input: [
      { role: 'user', content: 'Go' },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: args },
      { type: 'function_call_output', call_id: 'a', output: 'ok' },
    ],
  });

  test.each(['', ' ', '{}', 'null'])('arguments %j are none', async (args) => {
    expect((await post(`${server.url}/v1/chat/completions`, chat(calling(args)))).status).toBe(200);
    expect((await post(`${server.url}/v1/responses`, responses(args))).status).toBe(200);
  });

  test.each(['{"a": "x', '[1]', 'oops'])('arguments %j: the error names the place', async (args) => {
    const places = [
      ['chat/completions', chat(calling(args)), 'messages.1.tool_calls.0.function.arguments'],
      ['responses', responses(args), 'input.1.arguments'],
    ] as const;
    for (const [path, body, param] of places) {
      const response = await post(`${server.url}/v1/${path}`, body);
      const { error } = await json(response);
      expect([response.status, error.param, error.code]).toEqual([400, param, 'invalid_value']);
      expect(error.message).toContain(`${param} must be a JSON object; got ${args}`);
    }
  });

  test.each([[[]], [null]])('tool_calls: %j is no call', async (none) => {
    expect((await post(`${server.url}/v1/chat/completions`, chat(none))).status).toBe(200);
  });
});
