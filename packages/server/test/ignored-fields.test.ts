// Fields that no route reads: ignored and counted, or refused under `strict`.
import type { Model } from '@quern/runtime';
import type { RunningServer } from '../src/index.js';
import { json, loadDemo, post, serving } from './serving.js';

let model: Model;
let server: RunningServer;
const log: Readonly<Record<string, unknown>>[] = [];
beforeAll(async () => {
  model = await loadDemo(2);
  server = await serving(model, { log: (entry) => log.push(entry) });
});
afterAll(async () => {
  await server.close();
  model.dispose();
});

const ask = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2, temperature: 0 };
const route = () => `${server.url}/v1/chat/completions`;
const counts = async (): Promise<Record<string, number>> => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const lines = [...text.matchAll(/^quern:ignored_fields_total\{field="(.*)"\} (\d+)$/gm)];
  return Object.fromEntries(lines.map(([, field, count]) => [field, Number(count)]));
};

test('the answer is that of the request without them; the header names them, the log once', async () => {
  const plain = await json(await post(route(), ask));
  const more = { ...ask, temprature: 'secret', stream_options: { include_usage: true, pace: 'secret' } };
  for (let i = 0; i < 2; i++) {
    const response = await post(route(), more);
    expect([response.status, response.headers.get('x-quern-notice')]).toEqual([
      200,
      'ignored fields: stream_options.pace, temprature',
    ]);
    expect((await json(response)).choices).toEqual(plain.choices);
  }
  expect(await counts()).toMatchObject({ temprature: 2, 'stream_options.pace': 2 });
  const lines = log.filter(({ ignoredFields }) => ignoredFields);
  expect(lines.map(({ ignoredFields }) => ignoredFields)).toEqual([['stream_options.pace', 'temprature']]);
  expect(JSON.stringify(log)).not.toContain('secret');
});

test('fields of list items have one name', async () => {
  const [user] = ask.messages;
  const messages = [
    user,
    { ...user, role: 'assistant', annotations: [] },
    { ...user, mood: 1 },
    { ...user, mood: 2 },
  ];
  const response = await post(route(), { ...ask, messages });
  expect(response.headers.get('x-quern-notice')).toBe(
    'ignored fields: messages.*.annotations, messages.*.mood',
  );
});

test('in a union: the alternative that fits but for them', async () => {
  const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
  const choice = { type: 'function', function: { name: 'g', x: 1 }, y: 1 };
  const response = await post(route(), { ...ask, tools: [tool], tool_choice: choice });
  expect(response.status).toBe(400); // there is no tool g
  expect((await json(response)).error.message).toContain('g');
});

test('what is wrong beside them is named', async () => {
  const response = await post(route(), { ...ask, a: 1, temperature: 'hot', b: 1 });
  expect([response.status, (await json(response)).error.param]).toEqual([400, 'temperature']);
});

test('names are bounded in number and length, and so is the header', async () => {
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${'x'.repeat(100)}${i}`, 1]));
  const others = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`y${i}`, 1]));
  const response = await post(route(), { ...ask, ...many, ...others, ['__proto__' as string]: 1 });
  expect(response.status).toBe(200);
  expect(response.headers.get('x-quern-notice')!.length).toBeLessThanOrEqual(2000);
  const found = await counts();
  expect(Object.keys(found).length).toBeLessThanOrEqual(101);
  expect(Object.keys(found).every((name) => name.length <= 65)).toBe(true);
  expect(Object.values(found).reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(2000);
});

test('a proto field of a body is a field like others', async () => {
  const body = `${JSON.stringify(ask).slice(0, -1)},"__proto__":{"max_tokens":1}}`;
  const response = await post(route(), body);
  expect((await json(response)).usage.completion_tokens).toBe(2);
});

test('strict: refused by name', async () => {
  const strict = await serving(model, { strict: true });
  const response = await post(`${strict.url}/v1/chat/completions`, { ...ask, temprature: 1 });
  expect([response.status, (await json(response)).error]).toEqual([
    400,
    {
      message: "unknown parameter: 'temprature'",
      type: 'invalid_request_error',
      param: 'temprature',
      code: 'unknown_parameter',
    },
  ]);
  await strict.close();
});
