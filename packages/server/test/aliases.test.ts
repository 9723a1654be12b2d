// Further names of models, and names that nothing has.
import type { Model } from '@quern/runtime';
import type { RunningServer } from '../src/index.js';
import { json, loadDemo, post, serving } from './serving.js';

let model: Model;
let server: RunningServer;
beforeAll(async () => {
  model = await loadDemo(2);
});
afterAll(() => model.dispose());
afterEach(async () => {
  await server.close();
});

const ask = (name: string, path = '/v1/chat/completions') =>
  post(`${server.url}${path}`, {
    model: name,
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 2,
    temperature: 0,
  });

test('an alias is the model; the answer has the name that was asked for, metrics the model’s own', async () => {
  server = await serving(model, { aliases: { 'gpt-4o': 'demo' } });
  for (const path of ['/v1/chat/completions', '/v1/messages']) {
    const response = await ask('gpt-4o', path);
    expect([response.status, (await json(response)).model]).toEqual([200, 'gpt-4o']);
  }
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/request_success_total\{model_name="demo",finished_reason="length"\} 2/);
  expect(metrics).not.toContain('gpt-4o');
  const { data } = await json(await fetch(`${server.url}/v1/models`));
  expect(data.map(({ id, alias_of }: Record<string, unknown>) => [id, alias_of])).toEqual([
    ['demo', undefined],
    ['gpt-4o', 'demo'],
  ]);
  expect(await json(await fetch(`${server.url}/v1/models/gpt-4o`))).toMatchObject({
    id: 'gpt-4o',
    kind: 'generation',
  });
});

test('a name that nothing has: 404, which lists the names; with anyModel the first model', async () => {
  server = await serving(model, { aliases: { 'gpt-4o': 'demo' } });
  const refused = await ask('claude-opus-5');
  expect([refused.status, (await json(refused)).error.message]).toEqual([
    404,
    'there is no model "claude-opus-5"; known models: demo, gpt-4o',
  ]);
  await server.close();
  server = await serving(model, { anyModel: true });
  expect((await json(await ask('claude-opus-5'))).model).toBe('claude-opus-5');
  const embed = await post(`${server.url}/v1/embeddings`, { model: 'claude-opus-5', input: 'a' });
  expect(embed.status).toBe(404); // there is no model of this kind
});

test('Ollama’s routes list and show aliases; their names have a tag', async () => {
  server = await serving(model, { aliases: { 'gpt-4o': 'demo' } });
  for (const path of ['/api/tags', '/api/ps']) {
    const { models } = await json(await fetch(server.url + path));
    expect(models.map(({ name }: { name: string }) => name)).toEqual(['demo:latest', 'gpt-4o:latest']);
    expect(models[1].digest).toBe(models[0].digest);
  }
  for (const name of ['gpt-4o', 'gpt-4o:latest']) {
    expect(await json(await post(`${server.url}/api/show`, { model: name }))).toMatchObject({
      details: { context_length: 256 },
    });
    expect((await fetch(`${server.url}/v1/models/${name}`)).status).toBe(200);
    expect((await json(await ask(name))).model).toBe('gpt-4o');
  }
  expect((await post(`${server.url}/api/show`, {})).status).toBe(200); // the only model
  const pulled = await post(`${server.url}/api/pull`, { model: 'gpt-4o:latest', stream: false });
  expect(await json(pulled)).toEqual({ status: 'success' });
});
