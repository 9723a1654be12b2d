// The memory of answers: its bounds, its owners, and what is never in it.
import type { Model } from '@quern/runtime';
import { StoredAnswers } from '../src/stored-answers.js';
import { Gate, gated } from './gated.js';
import { json, loadDemo, post, served, serving, until } from './serving.js';

const answer = (id: string, text = '') => ({
  response: { id },
  input: [{ type: 'message' as const, id: `in_${id}`, role: 'user' as const, content: text }],
  output: [{ type: 'message' as const, id: `out_${id}`, role: 'assistant' as const, content: 'ok' }],
});
const found = (answers: StoredAnswers, ...ids: string[]) =>
  ids.filter((id) => answers.find('me', id) !== undefined);

describe('bounds', () => {
  test('of number: the least recently used one goes first', () => {
    const answers = new StoredAnswers(2, 1000);
    answers.add('me', answer('a'));
    answers.add('me', answer('b'));
    answers.find('me', 'a');
    answers.add('me', answer('c'));
    expect(found(answers, 'a', 'b', 'c')).toEqual(['a', 'c']);
    answers.findItem('me', 'in_a');
    answers.add('me', answer('d'));
    expect(found(answers, 'a', 'c', 'd')).toEqual(['a', 'd']);
  });

  test('of bytes; one that is larger than all is not kept', () => {
    const answers = new StoredAnswers(100, 1000);
    for (const id of ['a', 'b', 'c']) answers.add('me', answer(id, 'x'.repeat(300)));
    expect(found(answers, 'a', 'b', 'c')).toEqual(['b', 'c']);
    answers.add('me', answer('d', 'x'.repeat(1000)));
    expect(found(answers, 'b', 'c', 'd')).toEqual(['b', 'c']);
    answers.delete('me', 'b');
    answers.add('me', answer('e', 'x'.repeat(300)));
    expect(found(answers, 'c', 'e')).toEqual(['c', 'e']);
  });
});

test('items are found by their ids, for their owner', () => {
  const answers = new StoredAnswers(2, 1000);
  answers.add('me', answer('a'));
  expect(['in_a', 'out_a', 'a'].map((id) => answers.findItem('me', id))).toEqual([
    answer('a').input[0],
    answer('a').output[0],
    undefined,
  ]);
  expect([answers.findItem('you', 'in_a'), answers.find('you', 'a'), answers.delete('you', 'a')]).toEqual([
    undefined,
    undefined,
    false,
  ]);
});

describe('the server', () => {
  const server = served(() => loadDemo(2), { apiKeys: ['mine', 'yours'], storedAnswers: 2 });

  const key = (name: string) => ({ authorization: `Bearer ${name}` });
  const url = (path = '') => `${server.url}/v1/responses${path}`;
  const ask = { input: 'Tell me a story.', temperature: 0, max_output_tokens: 2 };
  const create = async (more: object = {}) => json(await post(url(), { ...ask, ...more }, key('mine')));
  const status = async (path: string, init: RequestInit = {}, name = 'mine') => {
    const response = await fetch(url(path), { ...init, headers: key(name) });
    const { error } = await json(response);
    return [response.status, error?.code];
  };

  test('another key does not reach an answer', async () => {
    const { id, output } = await create();
    expect(await status(`/${id}`)).toEqual([200, undefined]);
    for (const [path, init] of [
      [`/${id}`, {}],
      [`/${id}/input_items`, {}],
      [`/${id}`, { method: 'DELETE' }],
      [`/${id}/cancel`, { method: 'POST' }],
    ] as const)
      expect(await status(path, init, 'yours')).toEqual([404, 'response_not_found']);
    const references = [
      { previous_response_id: id },
      { input: [{ type: 'item_reference', id: output[0].id }] },
    ];
    for (const [i, more] of references.entries()) {
      const response = await post(url(), { ...ask, ...more }, key('yours'));
      const code = ['previous_response_not_found', 'item_not_found'][i];
      expect([response.status, (await json(response)).error.code]).toEqual([404, code]);
    }
    expect(await status(`/${id}`, {}, 'none')).toEqual([401, 'invalid_api_key']);
  });

  test('store: false, and the oldest one beyond the number', async () => {
    const ids: string[] = [];
    for (const store of [true, true, false, undefined]) ids.push((await create({ store })).id);
    const codes = await Promise.all(ids.map(async (id) => (await status(`/${id}`))[0]));
    expect(codes).toEqual([404, 200, 404, 200]);
  });

  test('a deleted one is gone', async () => {
    const { id } = await create();
    const gone = await fetch(url(`/${id}`), { method: 'DELETE', headers: key('mine') });
    expect(await json(gone)).toEqual({ id, object: 'response', deleted: true });
    const next = await post(url(), { ...ask, previous_response_id: id }, key('mine'));
    expect([next.status, (await json(next)).error]).toMatchObject([
      404,
      { code: 'previous_response_not_found', param: 'previous_response_id' },
    ]);
  });

  test('a stream that its client leaves is not stored', async () => {
    const gate = new Gate();
    const { chat } = server.model;
    let signal: AbortSignal | undefined;
    server.model.chat = ((...args: Parameters<Model['chat']>) => {
      signal = args[1]?.signal;
      return gated(() => chat.apply(server.model, args), gate, 1);
    }) as Model['chat'];
    const abort = new AbortController();
    const headers = { 'content-type': 'application/json', ...key('mine') };
    const body = JSON.stringify({ ...ask, max_output_tokens: 8, ignore_eos: true, stream: true });
    const response = await fetch(url(), { method: 'POST', headers, body, signal: abort.signal });
    const { value } = await response.body!.pipeThrough(new TextDecoderStream()).getReader().read();
    server.model.chat = chat;
    abort.abort();
    await until(() => signal!.aborted);
    gate.open();
    await until(() => server.running === 0);
    const id = /"id":"(resp_[^"]+)"/.exec(value!)![1];
    expect(await status(`/${id}`)).toEqual([404, 'response_not_found']);
  });

  test.each([
    ['?limit=0', 'limit'],
    ['?limit=x', 'limit'],
    ['?order=up', 'order'],
    ['?after=x', 'after'],
  ])('input_items%s: 400', async (query, param) => {
    const { id } = await create();
    const response = await fetch(url(`/${id}/input_items${query}`), { headers: key('mine') });
    expect([response.status, (await json(response)).error.param]).toEqual([400, param]);
  });

  test('none are kept with storedAnswers: 0', async () => {
    const none = await serving(server.model, { storedAnswers: 0 });
    const { id, store } = await json(await post(`${none.url}/v1/responses`, ask));
    expect(store).toBe(false);
    const response = await fetch(`${none.url}/v1/responses/${id}`);
    expect(response.status).toBe(404);
    await response.text();
    await none.close();
  });
});
