import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Model } from '@quern/runtime';
import type { RunningServer } from '../src/index.js';
import { AdapterUse } from '../src/metrics.js';
import { writeDemoAdapter } from './demo-adapter.js';
import { Gate, gated } from './gated.js';
import { json, loadDemo, post, serving } from './serving.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-adapters-'));
let model: Model;
let server: RunningServer;
let closed: RunningServer;
beforeAll(async () => {
  model = await loadDemo();
  await model.loadAdapter('fixed', writeDemoAdapter(join(folder, 'fixed'), model));
  writeDemoAdapter(join(folder, 'poet'), model, 70);
  server = await serving(model, { adapterFolder: folder });
  closed = await serving(model);
});
afterAll(async () => {
  await server.close();
  await closed.close();
  model.dispose();
  rmSync(folder, { recursive: true });
});

const messages = [{ role: 'user', content: 'Tell me a story about a fox.' }];
const ask = (name: string) =>
  post(`${server.url}/v1/chat/completions`, { model: name, messages, temperature: 0, max_tokens: 16 });
const textOf = async (name: string): Promise<string> =>
  (await json(await ask(name))).choices[0].message.content;

test('a request names an adapter as its model', async () => {
  const [plain, adapted] = await Promise.all([textOf('demo'), textOf('fixed')]);
  expect(adapted).not.toBe(plain);
  const expected = await model.chat(messages, {
    ...{ temperature: 0, topK: 0, topP: 1, minP: 0, maxTokens: 16, adapters: 'fixed' },
  }).result;
  expect(adapted).toBe(expected.text);
  const { data } = await json(await fetch(`${server.url}/v1/models`));
  expect(data).toMatchObject([{ id: 'demo' }, { id: 'fixed', parent: 'demo', adapter: { rank: 4 } }]);
  const one = await json(await fetch(`${server.url}/v1/models/fixed`));
  expect(one).toMatchObject({ id: 'fixed', parent: 'demo' });
});

const load = (body: object, at = server) => post(`${at.url}/v1/load_lora_adapter`, body);
const unload = (body: object) => post(`${server.url}/v1/unload_lora_adapter`, body);

test('adapters come from the folder and go', async () => {
  expect((await ask('poet')).status).toBe(404);
  expect(await json(await load({ lora_name: 'poet', lora_path: 'poet' }))).toEqual({
    ...{ lora_name: 'poet', loaded: true },
  });
  expect(await textOf('poet')).not.toBe(await textOf('demo'));
  expect((await unload({ lora_name: 'poet' })).status).toBe(200);
  expect((await ask('poet')).status).toBe(404);
});

test('refusals name the field', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'quern-outside-'));
  symlinkSync(outside, join(folder, 'link'));
  mkdirSync(join(folder, 'broken'));
  writeFileSync(
    join(folder, 'broken', 'adapter_config.json'),
    '{"peft_type":"LORA","lora_alpha":1,"use_dora":true}',
  );
  const refused = async (body: object, param: string, message: RegExp) => {
    const response = await load(body);
    expect(response.status).toBe(400);
    const { error } = await json(response);
    expect(error).toMatchObject({ type: 'invalid_request_error', param });
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain(folder);
  };
  for (const path of ['..', '../x', '.', outside, 'link', 'nothing'])
    await refused({ lora_name: 'new', lora_path: path }, 'lora_path', /no such adapter/);
  await refused({ lora_name: 'fixed', lora_path: 'poet' }, 'lora_name', /there is a model or adapter/);
  await refused({ lora_name: 'a/b', lora_path: 'poet' }, 'lora_name', /letters, digits/);
  await refused({ lora_name: 'new' }, 'lora_path', /./);
  await refused({ lora_name: 'new', lora_path: 'broken' }, 'lora_path', /broken.*use_dora is true/);
  expect((await unload({ lora_name: 'new' })).status).toBe(404);
  rmSync(outside, { recursive: true });
});

test('without a folder there are no such routes', async () => {
  expect((await load({ lora_name: 'new', lora_path: 'poet' }, closed)).status).toBe(404);
});

test('/metrics names the adapters of requests under way', async () => {
  const gate = new Gate();
  const held = Object.assign(Object.create(model) as Model, {
    generate: (...args: Parameters<Model['generate']>) => gated(() => model.generate(...args), gate, 1),
  });
  const own = await serving(held);
  const info = async () => {
    const text = await (await fetch(`${own.url}/metrics`)).text();
    return /^quern:lora_requests_info\{model_name="demo",(.*)\} \d+$/m.exec(text)?.[1];
  };
  const idle = 'max_lora="1",running_lora_adapters="",waiting_lora_adapters=""';
  expect(await info()).toBe(idle);
  const body = { model: 'fixed', prompt: 'Once', max_tokens: 8, ignore_eos: true, stream: true };
  const response = await post(`${own.url}/v1/completions`, body); // begins with its first token
  expect(await info()).toBe(idle.replace('running_lora_adapters=""', 'running_lora_adapters="fixed"'));
  gate.open();
  await response.text();
  expect(await info()).toBe(idle);
  await own.close();
});

test('an adapter waits until its first token', () => {
  const use = new AdapterUse();
  const names = () => [use.names('waiting', ['a', 'b']), use.names('running', ['a', 'b'])];
  const [one, other] = [use.begin('a'), use.begin('a')];
  expect(names()).toEqual(['a', '']);
  one.starts();
  one.starts();
  expect(names()).toEqual(['a', 'a']);
  other.ends();
  expect(names()).toEqual(['', 'a']);
  one.ends();
  expect(names()).toEqual(['', '']);
});
