// Any body gets an answer of OpenAI's shape; nothing stays behind.
import type { Model } from '@quern/runtime';
import fc from 'fast-check';
import { createHandler, type Handler } from '../src/index.js';
import { json, loadDemo } from './serving.js';

let model: Model;
let handler: Handler;
beforeAll(async () => {
  model = await loadDemo();
  handler = createHandler({ models: { demo: model } });
});
afterAll(() => model.dispose());

const send = (path: string, body: string, type = 'application/json') =>
  handler.fetch(new Request(`http://x${path}`, { method: 'POST', headers: { 'content-type': type }, body }));

const bodies: Readonly<Record<string, object>> = {
  '/v1/chat/completions': {
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 1,
    temperature: 0,
    n: 1,
    stop: 'x',
    seed: 1,
    logprobs: true,
    top_logprobs: 1,
    stream: false,
    response_format: { type: 'text' },
    logit_bias: { 3: 1 },
  },
  '/v1/completions': { prompt: 'hi', max_tokens: 1, echo: false, logprobs: 1, best_of: 1, n: 1 },
  '/tokenize': { prompt: 'hi', add_special_tokens: true, with_pieces: true, messages: null, content: null },
  '/detokenize': { tokens: [3, 4] },
  '/v1/embeddings': { input: 'hi', encoding_format: 'float' },
  '/completion': {
    prompt: 'hi',
    n_predict: 1,
    temperature: 0,
    top_k: 1,
    top_p: 1,
    min_p: 0,
    repeat_penalty: 1,
    repeat_last_n: 1,
    seed: 1,
    stop: ['x'],
    logit_bias: [[3, 1]],
    grammar: '',
    json_schema: null,
    n_probs: 1,
    n_cmpl: 1,
    samplers: null,
    response_fields: null,
  },
  '/infill': { input_prefix: 'a', input_suffix: 'b', input_extra: [], prompt: 'c' },
  '/apply-template': { messages: [{ role: 'user', content: 'hi' }], chat_template_kwargs: {} },
  '/v1/chat/completions/render': { messages: [{ role: 'user', content: 'hi' }], tools: [] },
  '/v1/completions/render': { prompt: 'hi', suffix: null },
  '/embedding': { content: 'hi', embd_normalize: 2 },
  '/score': { text_1: 'a', text_2: 'b' },
  '/v1/rerank': { query: 'a', documents: ['b'], top_n: 1 },
};

/** Values that no field wants. */
const strange = [
  null,
  true,
  -1,
  1e308,
  0.5,
  '',
  'x'.repeat(1e5),
  '\ud800',
  [],
  [[]],
  {},
  { a: { a: {} } },
  '\u0000',
  ['a', 3],
  2 ** 53,
];

async function needAnswer(response: Response): Promise<void> {
  if (response.ok) return void (await response.text());
  const value = await json(response);
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(response.status).toBeLessThan(500);
  expect(value.error).toMatchObject({ message: expect.any(String), type: expect.any(String) });
  expect(Object.keys(value.error).sort()).toEqual(['code', 'message', 'param', 'type']);
}

test.each(Object.entries(bodies))('%s: each field with strange values', async (path, body) => {
  for (const field of [...Object.keys(body), 'model', 'unheard-of'])
    for (const value of strange)
      await needAnswer(await send(path, JSON.stringify({ ...body, [field]: value })));
  expect(model.freeBlocks).toBe(model.stats().blocks);
  expect(handler.running).toBe(0);
});

test('any JSON, and what is not JSON', async () => {
  const property = fc.asyncProperty(fc.constantFrom(...Object.keys(bodies)), fc.json(), async (path, text) =>
    needAnswer(await send(path, text)),
  );
  await fc.assert(property, { numRuns: 100 });
  for (const text of [
    '',
    '{',
    'NaN',
    '{"messages": NaN}',
    '[1',
    `${'['.repeat(1e5)}${']'.repeat(1e5)}`,
    `{"messages":${'[{"a":'.repeat(500)}1${'}]'.repeat(500)}}`,
  ])
    for (const path of Object.keys(bodies)) {
      const response = await send(path, text);
      expect(response.status).toBe(400);
      await needAnswer(response);
    }
});

test('schemas and patterns that explode are refused or answered within seconds', async () => {
  const nested = (depth: number): object =>
    depth === 0
      ? { type: 'string' }
      : { oneOf: [nested(depth - 1), { type: 'array', items: nested(depth - 1) }] };
  const formats = [
    { type: 'json_schema', json_schema: { schema: nested(10) } },
    { type: 'regex', regex: '(a{1,1000}){1,1000}b' },
    { type: 'regex', regex: '(((a*)*)*)*' },
    { type: 'grammar', grammar: 'root ::= root "a" | "b"' },
  ];
  for (const response_format of formats) {
    const begin = performance.now();
    await needAnswer(
      await send(
        '/v1/chat/completions',
        JSON.stringify({ ...bodies['/v1/chat/completions'], response_format }),
      ),
    );
    expect(performance.now() - begin).toBeLessThan(10_000);
  }
});
