// Routes in the form of llama.cpp's server: /completion, /infill, /props, /slots, and timings of other routes.
import { loadModel, type Model } from '@quern/runtime';
import { writeTinyModel } from '../../runtime/test/tiny-model.js';
import { type RunningServer, serve } from '../src/index.js';
import { json, loadDemo, post, served, until } from './serving.js';

const server = served();

const prompt = 'Once upon a time';
const greedy = { temperature: 0, top_k: 0, top_p: 1, min_p: 0 };
const complete = (body: object) => post(`${server.url}/completion`, { ...greedy, n_predict: 8, ...body });
const events = async (response: Response) =>
  (await response.text())
    .trim()
    .split('\n\n')
    .map((each) => JSON.parse(each.slice('data: '.length)));

describe('/completion', () => {
  test('the text of /v1/completions; what the end says', async () => {
    const other = { ...greedy, prompt, max_tokens: 8 };
    const { choices, usage } = await json(await post(`${server.url}/v1/completions`, other));
    const answer = await json(await complete({ prompt, return_tokens: true, stop: [] }));
    expect(answer).toMatchObject({
      ...{ index: 0, content: choices[0].text, stop: true, model: 'demo', prompt: `<|endoftext|>${prompt}` },
      ...{ stop_type: 'limit', stopping_word: '', truncated: false, tokens_predicted: 8 },
      ...{ tokens_evaluated: usage.prompt_tokens, tokens_cached: 0 },
      generation_settings: { n_predict: 8, temperature: 0, repeat_last_n: 64, n_ctx: 256 },
    });
    expect(server.model.detokenize([...server.model.tokenize(prompt), ...answer.tokens])).toBe(
      prompt + answer.content,
    );
    const { timings } = answer;
    expect(timings).toMatchObject({ cache_n: 0, prompt_n: usage.prompt_tokens, predicted_n: 8 });
    expect(timings.prompt_ms).toBeCloseTo(timings.prompt_per_token_ms * timings.prompt_n);
    expect(timings.predicted_per_second).toBeCloseTo(8000 / timings.predicted_ms);
  });

  test('llama.cpp’s defaults where a request says nothing', async () => {
    const body = { prompt, n_predict: 12, seed: 5 };
    const answer = await json(await post(`${server.url}/completions`, body));
    expect(answer.content).toBe(
      (await server.model.generate(prompt, { maxTokens: 12, seed: 5 }).result).text,
    );
    expect(answer.generation_settings).toMatchObject({
      ...{ temperature: 0.8, top_k: 40, top_p: 0.95, min_p: 0.05, repeat_penalty: 1, seed: 5 },
    });
  });

  test('streamed: the same text and tokens, and the same end', async () => {
    const whole = await json(await complete({ prompt, return_tokens: true }));
    const list = await events(await complete({ prompt, stream: true }));
    const last = list.pop();
    expect(list.every(({ stop }) => stop === false)).toBe(true);
    expect(list.map(({ content }) => content).join('')).toBe(whole.content);
    expect(list.flatMap(({ tokens }) => tokens)).toEqual(whole.tokens);
    const { timings: _, content: __, tokens: ___, generation_settings, ...end } = whole;
    expect(last).toMatchObject({ ...end, content: '', stop: true });
    expect(last.generation_settings).toEqual({ ...generation_settings, stream: true });
  });

  test('ids, ids and texts in a row, an object, and a list of prompts', async () => {
    const of = async (given: unknown) => json(await complete({ prompt: given, n_predict: 4 }));
    const expected = await of(prompt);
    const ids = server.model.tokenize(prompt);
    const texts = (answers: { content: string }[]) => answers.map(({ content }) => content);
    const head = ids.slice(0, 2);
    const rest = server.model.detokenize(ids.slice(2));
    for (const given of [ids, [...head, rest], { prompt_string: prompt }])
      expect((await of(given)).content).toBe(expected.content);
    const list = await of([prompt, ids, [...head, rest]]);
    expect(texts(list)).toEqual([expected.content, expected.content, expected.content]);
    expect(list.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2]);
    expect(texts(await of([prompt]))).toEqual([expected.content]);
  });

  test('control tokens of a prompt are parsed', async () => {
    const answer = await json(await complete({ prompt: 'Hi<|end|>', n_predict: 0 }));
    expect(answer.tokens_evaluated).toBe(server.model.tokenize('Hi').length + 1);
    expect(answer).toMatchObject({ content: '', tokens_predicted: 0 });
  });

  test('n_predict -1: until the end, here the context’s', async () => {
    const answer = await json(await complete({ prompt, n_predict: -1, ignore_eos: true }));
    expect(answer).toMatchObject({ truncated: true, stop_type: 'limit' });
    expect(answer.tokens_evaluated + answer.tokens_predicted).toBeGreaterThanOrEqual(256);
  });

  test('a stop string, a grammar, a schema, biases', async () => {
    const { content } = await json(await complete({ prompt }));
    const word = content.trim().split(' ')[1];
    const stopped = await json(await complete({ prompt, stop: [word] }));
    expect(stopped).toMatchObject({ stop_type: 'word', stopping_word: word });
    expect(stopped.content).toBe(content.slice(0, content.indexOf(word)));
    const grammar = 'root ::= "yes" | "no"';
    expect((await json(await complete({ prompt, grammar }))).content).toMatch(/^(yes|no)$/);
    const json_schema = { enum: ['a', 'b'] };
    expect((await json(await complete({ prompt, json_schema, n_predict: 20 }))).content).toMatch(/^"[ab]"$/);
    const [first] = (await json(await complete({ prompt, n_predict: 1, return_tokens: true }))).tokens;
    const [bare] = server.model.tokenize('fox', { addBos: false });
    const biased = async (logit_bias: unknown) =>
      (await json(await complete({ prompt, n_predict: 1, return_tokens: true, logit_bias }))).tokens[0];
    expect(await biased([[first, false]])).not.toBe(first);
    expect(await biased([[bare, 100]])).toBe(bare);
    expect(await biased({ [String(bare)]: 100 })).toBe(bare);
    expect([...server.model.tokenize('fox', { addBos: false })]).toContain(await biased([['fox', 100]]));
  });

  test('n_probs: the log-probabilities of /v1/completions', async () => {
    const other = { ...greedy, prompt, max_tokens: 2, logprobs: 2 };
    const { logprobs } = (await json(await post(`${server.url}/v1/completions`, other))).choices[0];
    const answer = await json(await complete({ prompt, n_predict: 2, n_probs: 2, return_tokens: true }));
    const found = answer.completion_probabilities;
    expect(found.map(({ id }: { id: number }) => id)).toEqual(answer.tokens);
    expect(found.map(({ token }: { token: string }) => token)).toEqual(logprobs.tokens);
    expect(found.map(({ logprob }: { logprob: number }) => logprob)).toEqual(logprobs.token_logprobs);
    expect(found[0].top_logprobs).toHaveLength(2);
    expect(Buffer.from(found[0].bytes).toString()).toBe(found[0].token);
  });

  test('response_fields: these alone', async () => {
    const names = ['content', 'generation_settings/n_predict', 'none', 'content/x'];
    const answer = await json(await complete({ prompt, response_fields: names }));
    expect(Object.keys(answer)).toEqual(['content', 'n_predict']);
    expect(answer.n_predict).toBe(8);
  });

  test.each([
    [{ prompt: 5 }, 'prompt'],
    [{}, 'prompt'],
    [{ prompt, n_predict: 'all' }, 'n_predict'],
    [{ prompt, mirostat: 2 }, 'mirostat'],
    [{ prompt, dry_multiplier: 0.8 }, 'dry_multiplier'],
    [{ prompt, typical_p: 0.5 }, 'typical_p'],
    [{ prompt, samplers: ['temperature', 'top_k', 'top_p', 'min_p'] }, 'samplers'],
    [{ prompt, n_probs: 50 }, 'n_probs'],
    [{ prompt, lora: [{ id: 0, scale: 1 }] }, 'lora'],
    [{ prompt, grammar: 'root ::= "a"', json_schema: {} }, 'grammar'],
    [{ prompt: 'a '.repeat(400) }, 'prompt'],
    [{ prompt: { prompt_string: 'a', multimodal_data: ['x'] } }, 'prompt'],
  ])('refuses %j', async (body, param) => {
    const response = await complete(body);
    expect([response.status, (await json(response)).error.param]).toEqual([400, param]);
  });

  test('what is off is accepted, and so is our order of samplers', async () => {
    const off = {
      mirostat: 0,
      mirostat_tau: 5,
      typical_p: 1,
      dry_multiplier: 0,
      xtc_probability: 0,
      lora: [],
    };
    const samplers = ['penalties', 'dry', 'top_k', 'typ_p', 'top_p', 'min_p', 'xtc', 'temperature'];
    const response = await complete({ prompt, ...off, samplers, id_slot: -1 });
    expect([response.status, response.headers.get('x-quern-notice')]).toEqual([200, null]);
  });
});

describe('fill in the middle', () => {
  const spellings: Readonly<Record<string, string>> = {
    '▁x': '<|fim_prefix|>',
    '▁y': '<|fim_suffix|>',
    '▁z': '<|fim_middle|>',
  };
  let coder: Model;
  let own: RunningServer;
  beforeAll(async () => {
    const path = await writeTinyModel({ spell: (token) => spellings[token] ?? token });
    coder = await loadModel(path, { backend: 'cpu', deterministic: true, onNotice: () => {} });
    own = await serve({ models: { coder }, port: 0 });
  });
  afterAll(async () => {
    await own.close();
    coder.dispose();
  });

  const settings = { temperature: 0, ignore_eos: true };
  const expected = async (prefix: string, suffix: string, files: { name: string; text: string }[] = []) => {
    const ids = await coder.infillTokens(prefix, suffix, { files });
    const options = { temperature: 0, topK: 0, topP: 1, minP: 0, maxTokens: 5, ignoreEos: true };
    return (await coder.generate(ids, options).result).text;
  };

  test('/infill: prompt ends the prefix; other files', async () => {
    const body = { ...settings, n_predict: 5, input_prefix: 'the a', input_suffix: 'b', prompt: ' c' };
    const whole = await json(await post(`${own.url}/infill`, body));
    expect(whole.content).toBe(await expected('the a c', 'b'));
    const input_extra = [{ filename: 'one', text: 'a b' }];
    const more = await json(await post(`${own.url}/infill`, { ...body, input_extra }));
    expect(more.content).toBe(await expected('the a c', 'b', [{ name: 'one', text: 'a b' }]));
    expect(more.tokens_evaluated).toBeGreaterThan(whole.tokens_evaluated);
    const streamed = await events(await post(`${own.url}/infill`, { ...body, stream: true }));
    expect(streamed.map(({ content }) => content).join('')).toBe(whole.content);
  });

  test('suffix of /v1/completions', async () => {
    const body = { ...settings, max_tokens: 5, prompt: ['the a', 'a'], suffix: 'b' };
    const { choices } = await json(await post(`${own.url}/v1/completions`, body));
    const texts = choices.map(({ text }: { text: string }) => text);
    expect(texts).toEqual([await expected('the a', 'b'), await expected('a', 'b')]);
    const ids = await post(`${own.url}/v1/completions`, { ...body, prompt: [3] });
    expect([ids.status, (await json(ids)).error.param]).toEqual([400, 'suffix']);
  });

  test.each([
    ['/infill', { input_prefix: 'a', input_suffix: 'b' }],
    ['/v1/completions', { prompt: 'a', suffix: 'b' }],
  ])('%s: a model without the tokens is named', async (path, body) => {
    const response = await post(server.url + path, body);
    const { error } = await json(response);
    expect([response.status, error.param, error.code]).toEqual([400, 'model', 'no_fim']);
    expect(error.message).toMatch(/^the vocabulary of demo has no tokens for filling in the middle/);
  });

  test('/infill: a wrong type', async () => {
    const response = await post(`${own.url}/infill`, { input_prefix: 5, input_suffix: 'b' });
    expect([response.status, (await json(response)).error.param]).toEqual([400, 'input_prefix']);
  });
});

describe('/props and /slots', () => {
  test('/props: the model, without a path', async () => {
    const found = await json(await fetch(`${server.url}/props`));
    expect(found).toMatchObject({
      default_generation_settings: { n_ctx: 256, params: { temperature: 0.8, n_predict: -1 } },
      ...{ total_slots: 2, model_path: 'demo', bos_token: '<|endoftext|>', eos_token: '<|endoftext|>' },
      chat_template: server.model.chatTemplate!.source,
      build_info: expect.stringMatching(/^quern \d+\.\d+\.\d+/),
    });
  });

  test('/slots: a request takes one', async () => {
    const idle = await json(await fetch(`${server.url}/slots`));
    const slot = { n_ctx: 256, is_processing: false };
    expect(idle).toEqual([0, 1].map((id) => ({ id, ...slot })));
    const body = { prompt, n_predict: -1, ignore_eos: true, stream: true };
    const streams = [await complete(body), await complete(body)];
    const full = await fetch(`${server.url}/slots?fail_on_no_slot=1`);
    const some = await json(await fetch(`${server.url}/slots`));
    for (const stream of streams) await stream.body?.cancel();
    await until(() => server.model.stats().running === 0);
    expect(some.length).toBeGreaterThanOrEqual(2);
    if (full.status === 503) expect((await json(full)).error.code).toBe('no_slot');
  });

  test('several models: one must be named', async () => {
    const several = await serve({ models: { a: server.model, b: server.model }, port: 0 });
    for (const path of ['/props', '/slots']) {
      expect((await fetch(several.url + path)).status).toBe(400);
      expect((await fetch(`${several.url}${path}?model=b`)).status).toBe(200);
      expect((await fetch(`${several.url}${path}?model=c`)).status).toBe(404);
    }
    await several.close();
  });
});

test('timings of chat and text completions, whole and streamed', async () => {
  const ask = { messages: [{ role: 'user', content: 'Hi' }], prompt, temperature: 0, max_tokens: 3 };
  for (const path of ['/v1/chat/completions', '/v1/completions']) {
    const { messages, prompt: text, ...rest } = ask;
    const body = path.includes('chat') ? { ...rest, messages } : { ...rest, prompt: text };
    const whole = await json(await post(server.url + path, body));
    expect(whole.timings).toMatchObject({ predicted_n: whole.usage.completion_tokens });
    expect(whole.timings.prompt_n + whole.timings.cache_n).toBe(whole.usage.prompt_tokens);
    const stream = await post(server.url + path, {
      ...{ ...body, stream: true, stream_options: { include_usage: true } },
    });
    const list = (await stream.text()).trim().split('\n\n').slice(0, -1);
    const last = JSON.parse(list.at(-1)!.slice('data: '.length));
    expect(last.timings).toMatchObject({ prompt_n: whole.timings.prompt_n, predicted_n: 3 });
    const several = await json(await post(server.url + path, { ...body, n: 2 }));
    expect(several.timings).toBeUndefined();
  }
});

describe('return_progress and timings_per_token', () => {
  const slow = served(() => loadDemo(2, { prefillChunk: 8, deterministic: false }));

  const text = 'Once upon a time there was a fox who lived by the river and liked to tell stories to all';
  const bodies = {
    '/completion': (start: string) => ({ ...greedy, prompt: start + text, n_predict: 4 }),
    '/v1/completions': (start: string) => ({ prompt: start + text, max_tokens: 4 }),
    '/v1/chat/completions': (start: string) => ({
      messages: [{ role: 'user', content: start + text }],
      max_tokens: 4,
    }),
  } as const;
  const paths = Object.keys(bodies) as (keyof typeof bodies)[];
  const stream = async (path: keyof typeof bodies, start: string, fields: object, { url } = server) => {
    const body = { ...bodies[path](start), temperature: 0, stream: true, ...fields };
    const response = await post(url + path, body);
    expect(response.headers.get('x-quern-notice')).toBeNull();
    const all = (await response.text()).matchAll(/^data: (?!\[DONE\])(.*)$/gm);
    return [...all].map(([, data]) => JSON.parse(data!));
  };
  // biome-ignore lint/suspicious/noExplicitAny: checked by the expectations
  const textOf = (chunk: any): string =>
    chunk.content ?? chunk.choices[0].text ?? chunk.choices[0].delta.content ?? '';

  test.each(paths)('%s: the prompt’s progress comes before the text', async (path) => {
    const [start, fields] = [`${path}: `, { return_progress: true }];
    const chunks = await stream(path, start, fields, slow);
    const isProgress = ({ prompt_progress }: { prompt_progress?: object }) => prompt_progress !== undefined;
    const begin = chunks.findIndex(isProgress);
    const progress = chunks.filter(isProgress).map(({ prompt_progress }) => prompt_progress);
    const [first] = progress;
    const { cache, total } = first;
    const parts = Array.from({ length: Math.ceil((total - cache) / 8) }, (_, i) => cache + 8 * (i + 1));
    expect(progress.map(({ processed }) => processed)).toEqual([
      cache,
      ...parts.map((part) => Math.min(part, total)),
    ]);
    expect(progress.every((each) => each.total === total && each.cache === cache)).toBe(true);
    expect(progress.length).toBeGreaterThan(3);
    const times = progress.map(({ time_ms }) => time_ms);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(chunks.slice(0, begin + progress.length).every((each) => textOf(each) === '')).toBe(true);
    const { timings } = chunks.at(-1);
    expect([timings.cache_n, timings.cache_n + timings.prompt_n]).toEqual([cache, total]);
    const again = (await stream(path, start, fields, slow))
      .filter(isProgress)
      .map((each) => each.prompt_progress);
    expect(again[0].processed).toBe(again[0].cache);
    expect(again[0].cache).toBeGreaterThan(cache);
    expect(again.at(-1)).toMatchObject({ total, processed: total });
  });

  test.each(paths)('%s: each chunk of text has the times until then', async (path) => {
    const chunks = await stream(path, '', { timings_per_token: true });
    const texts = chunks.filter((each) => textOf(each) !== '');
    expect(texts.length).toBeGreaterThan(1);
    const last = chunks.at(-1).timings;
    let predicted = 0;
    for (const { timings } of texts) {
      expect(timings).toMatchObject({ prompt_n: last.prompt_n, cache_n: last.cache_n });
      expect(timings.predicted_n).toBeGreaterThan(predicted);
      predicted = timings.predicted_n;
    }
    expect(predicted).toBe(last.predicted_n);
  });

  test.each(paths)('%s: without them, and in whole answers, nothing changes', async (path) => {
    const chunks = await stream(path, '', {});
    expect(chunks.slice(0, -1).some((each) => 'timings' in each || 'prompt_progress' in each)).toBe(false);
    const body = { ...bodies[path](''), temperature: 0, return_progress: true, timings_per_token: true };
    const whole = await json(await post(server.url + path, body));
    expect([whole.timings.predicted_n, 'prompt_progress' in whole]).toEqual([4, false]);
    const wrong = await post(server.url + path, { ...body, return_progress: 'yes' });
    expect([wrong.status, (await json(wrong)).error.param]).toEqual([400, 'return_progress']);
  });
});
