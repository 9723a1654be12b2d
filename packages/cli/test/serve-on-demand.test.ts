// Models that `quern serve` loads when a request asks for them.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeSyntheticEncoder, makeSyntheticSpeechModel } from '@quern/runtime';
import { folderModels, modelsUnder } from '../src/serve/model-folder.js';
import { modelName } from '../src/serve/model-name.js';
import { bytesOf, durationOf } from '../src/serve/quantities.js';
import { quern, type Started, start } from './cli.js';

const demo = fileURLToPath(new URL('../../demo-model/model/quern-demo.gguf', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quern-on-demand-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

let server: Started | undefined;
afterEach(async () => {
  server?.kill('SIGKILL');
  await server?.finished;
  server = undefined;
});

/** Starts a server on a free port; its address. */
async function serving(args: readonly string[]): Promise<string> {
  const own = start(['serve', ...args, '--port', '0', '--no-log']);
  server = own;
  const [, url] = (await own.said(/listening on (\S+)\n/)) ?? [];
  if (url === undefined) throw new Error(`no server: ${(await own.finished).stderr}`);
  return url;
}

const stop = async () => {
  server!.kill('SIGTERM');
  const { code, stderr } = await server!.finished;
  server = undefined;
  return { code, stderr };
};

const post = (url: string, body: object) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

// biome-ignore lint/suspicious/noExplicitAny: checked by the tests' expectations
const json = async (response: Response | Promise<Response>): Promise<any> => (await response).json();

const statesOf = async (url: string): Promise<Record<string, string>> => {
  const { data } = await json(fetch(`${url}/v1/models`));
  return Object.fromEntries(data.map(({ id, state }: { id: string; state: string }) => [id, state]));
};

const chat = (model: string) => ({
  ...{ model, max_tokens: 4, temperature: 0 },
  messages: [{ role: 'user', content: 'Hi' }],
});

test('the demo model under two names takes turns where one fits', async () => {
  const url = await serving(['first=demo', 'second=demo', '--alias', 'gpt-4o=second', '--max-models', '1']);
  expect(await statesOf(url)).toEqual({ first: 'unloaded', second: 'unloaded', 'gpt-4o': 'unloaded' });
  const { data } = await json(fetch(`${url}/v1/models`));
  expect(data[0]).toMatchObject({ context_length: 512, meta: { n_vocab: 2048, n_ctx_train: 512 } });
  const texts: string[] = [];
  for (const model of ['first', 'gpt-4o', 'first']) {
    const answer = await json(post(`${url}/v1/chat/completions`, chat(model)));
    texts.push(answer.choices[0].message.content);
  }
  expect(new Set(texts).size).toBe(1);
  expect(await statesOf(url)).toEqual({ first: 'loaded', second: 'unloaded', 'gpt-4o': 'unloaded' });
  const all = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      post(`${url}/v1/chat/completions`, chat(i % 2 ? 'first' : 'second')),
    ),
  );
  expect(all.map(({ status }) => status)).toEqual(new Array(10).fill(200));
  expect(await json(post(`${url}/models/unload`, { model: 'first' }))).toEqual({ success: true });
  const { code, stderr } = await stop();
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^second: context 512: /m)]);
  expect(stderr).toMatch(/^first: unloaded$/m);
}, 120_000);

test('a folder of models of all kinds; what is no model is left out', async () => {
  mkdirSync(join(folder, 'owner', 'name'), { recursive: true });
  copyFileSync(demo, join(folder, 'owner', 'name', 'story-00001-of-00001.gguf'));
  await makeSyntheticEncoder(join(folder, 'encoder.gguf'), { shape: 'tiny', format: 'f32' });
  await makeSyntheticSpeechModel(join(folder, 'speech.gguf'), { shape: 'whisper-test', format: 'f32' });
  writeFileSync(join(folder, 'broken.gguf'), 'no model');
  const url = await serving([folder, '--pin', 'encoder', '--keep-alive', '0']);
  expect(await statesOf(url)).toEqual({ encoder: 'loaded', story: 'unloaded', speech: 'unloaded' });
  const { data } = await json(fetch(`${url}/v1/models`));
  expect(data.map((each: Record<string, unknown>) => [each.id, each.kind])).toEqual([
    ['encoder', 'embedding'],
    ['story', 'generation'],
    ['speech', 'speech'],
  ]);
  expect((await post(`${url}/v1/chat/completions`, chat('story'))).status).toBe(200);
  expect((await post(`${url}/v1/embeddings`, { model: 'encoder', input: 'a b' })).status).toBe(200);
  const { code, stderr } = await stop();
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^left out: [^:]*broken\.gguf: is not a GGUF file/m),
  ]);
  expect(stderr).toMatch(/^story: unloaded$/m);
}, 120_000);

test('a file that vanishes, and one that is damaged: an error of its requests, until it is there again', async () => {
  for (const name of ['one', 'other']) copyFileSync(demo, join(folder, `${name}.gguf`));
  const url = await serving([folder]);
  const ask = async () => {
    const response = await post(`${url}/v1/chat/completions`, chat('one'));
    return [response.status, (await json(response)).error?.message];
  };
  rmSync(join(folder, 'one.gguf'));
  expect(await ask()).toEqual([
    500,
    'the model "one" cannot be loaded: one is gone since the server started',
  ]);
  writeFileSync(join(folder, 'one.gguf'), 'damaged');
  expect(await ask()).toEqual([500, expect.stringMatching(/^the model "one" cannot be loaded: one: /)]);
  copyFileSync(demo, join(folder, 'one.gguf'));
  expect(await ask()).toEqual([200, undefined]);
  expect((await post(`${url}/v1/chat/completions`, chat('other'))).status).toBe(200);
  expect((await stop()).code).toBe(0);
}, 120_000);

test('one model without flags loads at the start and stays', async () => {
  const url = await serving(['demo']);
  expect(await statesOf(url)).toEqual({ demo: 'loaded' });
  expect((await post(`${url}/models/unload`, { model: 'demo' })).status).toBe(400);
  expect((await stop()).stderr).not.toMatch(/unloaded/);
}, 120_000);

test.each([
  [['demo', 'b=demo', '--memory', '1MB'], /model is too large.*; --memory allows 1\.0 MB/],
  [['demo', 'b=demo', '--pin', 'c'], /--pin is 'c'; it must be one of these models, or \*: demo, b/],
  [['demo', 'b=demo', '--draft', 'demo'], /--draft needs models that stay loaded/],
  [['demo', 'b=demo', '--pin', '*', '--max-models', '1'], /maxModels is 1, but 2 models are pinned/],
  [['demo', '--memory', 'much'], /must be a number of bytes, as 8GB/],
  [['demo', '--keep-alive', 'soon'], /must be a duration as 30s, 5m or 1h/],
  [['demo', '--max-models', '0'], /must be a whole number, 1 or more/],
  [['demo', '--models-max', '2'], /Did you mean --max-models\?/],
  [['demo', '--sse-ping-interval', '2'], /Did you mean --ping-interval\?/],
  [['demo', 'nosuch'], /nosuch/],
])('serve %j is an error at the start', async (args, says) => {
  const { code, stdout, stderr } = await quern(['serve', ...args]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(says);
});

test('a budget that no model of a folder fits in', async () => {
  for (const name of ['one', 'other']) copyFileSync(demo, join(folder, `${name}.gguf`));
  const { code, stderr } = await quern(['serve', folder, '--memory', '1MB']);
  expect(code).toBe(1);
  expect(stderr.match(/^left out: .*--memory allows 1\.0 MB$/gm)).toHaveLength(2);
  expect(stderr).toMatch(/^quern: none of 2 models can be served/m);
});

describe('folders of models', () => {
  const touch = (...path: string[]) => {
    mkdirSync(join(folder, ...path.slice(0, -1)), { recursive: true });
    writeFileSync(join(folder, ...path), '');
  };

  test('files, first files of split ones, folders with safetensors; no projectors and hidden folders', () => {
    touch('b.gguf');
    touch('a-00001-of-00002.gguf');
    touch('a-00002-of-00002.gguf');
    touch('mmproj-b.gguf');
    touch('readme.md');
    touch('.cache', 'c.gguf');
    touch('x', 'y', 'd.GGUF');
    touch('hf', 'config.json');
    touch('hf', 'model-00001-of-00002.safetensors');
    touch('empty', 'config.json');
    touch('1', '2', '3', '4', 'deep.gguf');
    const found = modelsUnder(folder).map((path) => path.slice(folder.length + 1));
    expect(found).toEqual(['a-00001-of-00002.gguf', 'b.gguf', 'hf', 'x/y/d.GGUF']);
    expect(found.map((path) => modelName(path, {}))).toEqual(['a', 'b', 'hf', 'd']);
  });

  test('a folder with one model is that model', () => {
    expect(folderModels(join(folder, 'none'))).toBeUndefined();
    expect(folderModels(folder)).toBeUndefined();
    touch('a.gguf');
    expect(folderModels(folder)).toBeUndefined();
    touch('config.json');
    touch('model.safetensors');
    expect(folderModels(folder)).toBeUndefined();
  });

  test('a folder above a folder with one model is a folder of models', () => {
    touch('x', 'a.gguf');
    expect(folderModels(folder)).toEqual([join(folder, 'x', 'a.gguf')]);
  });
});

test('durations and bytes', () => {
  expect(['30s', '5m', '1.5h', '90', '0', '250ms', 'never', '-1'].map(durationOf)).toEqual([
    30_000,
    300_000,
    5_400_000,
    90_000,
    0,
    250,
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
  ]);
  expect(['8GB', '8g', '7.5GiB', '500MB', '1024', '1k'].map(bytesOf)).toEqual([
    8e9,
    8e9,
    7.5 * 2 ** 30,
    5e8,
    1024,
    1000,
  ]);
  for (const wrong of ['', '5 minutes', '-2', 'm']) expect(() => durationOf(wrong)).toThrow(/duration/);
  for (const wrong of ['', '0', '-1', 'GB', '8XB', '8i', '1e9', '0.5'])
    expect(() => bytesOf(wrong)).toThrow();
});
