import { json, post, served } from './serving.js';

const server = served();

const complete = (more: object) =>
  post(`${server.url}/v1/completions`, { prompt: 'Once', max_tokens: 40, temperature: 0, ...more });
const chat = (more: object) =>
  post(`${server.url}/v1/chat/completions`, {
    messages: [{ role: 'user', content: 'Once' }],
    max_tokens: 40,
    temperature: 0,
    ...more,
  });
const schema = {
  type: 'object',
  properties: { a: { enum: [1, 2] } },
  required: ['a'],
  additionalProperties: false,
};
const inSchema = /^\{\s*"a"\s*:\s*[12]\s*\}$/;

test.each([
  ['guided_json', { guided_json: schema }, inSchema],
  ['guided_json as text', { guided_json: JSON.stringify(schema) }, inSchema],
  ['guided_regex', { guided_regex: '[ab]{3}' }, /^[ab]{3}$/],
  ['guided_choice', { guided_choice: ['red', 'green'] }, /^(red|green)$/],
  ['guided_grammar', { guided_grammar: 'root ::= "x" [yz]' }, /^x[yz]$/],
  ['json_schema', { json_schema: schema }, inSchema],
  ['grammar', { grammar: 'root ::= "x" [yz]' }, /^x[yz]$/],
  ['structured_outputs.json', { structured_outputs: { json: schema } }, inSchema],
  ['structured_outputs.regex', { structured_outputs: { regex: '[ab]{3}' } }, /^[ab]{3}$/],
  ['structured_outputs.choice', { structured_outputs: { choice: ['red', 'green'] } }, /^(red|green)$/],
  ['structured_outputs.grammar', { structured_outputs: { grammar: 'root ::= "x" [yz]' } }, /^x[yz]$/],
  [
    'none of them',
    { grammar: '', guided_json: null, structured_outputs: {}, response_format: { type: 'text' } },
    /./,
  ],
])('%s', async (_, more, text) => {
  const [completion, answer] = [await json(await complete(more)), await json(await chat(more))];
  expect(completion.choices[0].text).toMatch(text);
  expect(answer.choices[0].message.content).toMatch(text);
});

test.each([
  ['two structures', { guided_regex: 'a', grammar: 'root ::= "a"' }, 'grammar'],
  ['a schema that is no JSON', { guided_json: '{' }, 'guided_json'],
  ['a grammar that does not parse', { guided_grammar: 'root ::= (' }, 'guided_grammar'],
  ['typical_p', { typical_p: 0.9 }, 'typical_p'],
  ['mirostat', { mirostat: 2 }, 'mirostat'],
  ['min_tokens', { min_tokens: 3 }, 'min_tokens'],
  ['beam search', { use_beam_search: true }, 'use_beam_search'],
  ['stop_token_ids', { stop_token_ids: [1] }, 'stop_token_ids'],
  ['many stops', { stop: Array.from({ length: 17 }, (_, i) => `${i}`) }, 'stop'],
  ['max_tokens', { max_tokens: -2 }, 'max_tokens'],
])('refused by name: %s', async (_, more, param) => {
  for (const response of [await complete(more), await chat(more)])
    expect([response.status, (await json(response)).error.param]).toEqual([400, param]);
});

test('the number of stops is said', async () => {
  const response = await complete({ stop: Array.from({ length: 17 }, (_, i) => `${i}`) });
  expect((await json(response)).error.message).toBe('stop: has 17 texts; at most 16 are allowed');
});

const neutral = {
  typical_p: 1,
  mirostat: 0,
  tfs_z: 1,
  top_a: 0,
  min_tokens: 0,
  dry_multiplier: 0,
  xtc_probability: 0,
  use_beam_search: false,
  stop_token_ids: [],
  bad_words: [],
  top_k: -1,
  seed: -1,
  stop: ['', ''],
  repeat_penalty: 1,
};

test('values that change nothing', async () => {
  const [plain, all] = [await json(await complete({})), await json(await complete(neutral))];
  expect(all.choices).toEqual(plain.choices);
});

test('max_tokens: -1: up to the context', async () => {
  const { usage } = await json(await chat({ max_tokens: -1, ignore_eos: true }));
  expect(usage.total_tokens).toBe(256);
});

test('repeat_penalty is repetition_penalty', async () => {
  const [one, other] = [
    await json(await complete({ repeat_penalty: 1.8 })),
    await json(await complete({ repetition_penalty: 1.8 })),
  ];
  expect(one.choices).toEqual(other.choices);
  expect(one.choices).not.toEqual((await json(await complete({}))).choices);
});

test('a route whose kind of model is missing', async () => {
  const response = await post(`${server.url}/v1/embeddings`, { input: 'x' });
  expect((await json(response)).error.message).toBe(
    'this server has no model for embedding, which this route needs; it has demo (generation): serve one too, such as nomic-embed-text:v1.5',
  );
});
