// Drafts for the requests of a server: the texts are those without drafts.

import { referenceDriver } from '@quern/backend-reference';
import { defineBackend } from '@quern/core';
import { loadModel, type Model } from '@quern/runtime';
import { createHandler, type RunningServer } from '../src/index.js';
import { hermesTemplate } from './hermes-template.mjs';
import { demo, json, loadDemo, post, serving } from './serving.js';

let model: Model;
let plain: RunningServer;
let drafting: RunningServer;
beforeAll(async () => {
  model = await loadDemo(8, { context: 512, chatTemplate: hermesTemplate });
  plain = await serving(model);
  drafting = await serving(model, { speculate: { kind: 'lookup', adaptive: false, maxDraft: 4 } });
});
afterAll(async () => {
  await plain.close();
  await drafting.close();
  model.dispose();
});

const repeating = 'The hare ran home. The hare ran home. The hare ran home. The hare';

/** Drafted and accepted tokens, as a server counts them. */
async function counts({ url }: RunningServer): Promise<readonly number[]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const count = (name: string) =>
    Number(new RegExp(`quern:spec_decode_num_${name}_tokens_total\\{.*\\} (\\d+)`).exec(text)?.[1] ?? 0);
  return [count('draft'), count('accepted')];
}

test('completions and chats at once: the same texts, and drafts are counted', async () => {
  const ask = async ({ url }: RunningServer) => {
    const texts = [1, 2, 3].map(async (i) => {
      const body = { prompt: repeating.repeat(i), max_tokens: 30, temperature: 0 };
      return (await json(await post(`${url}/v1/completions`, body))).choices[0].text;
    });
    const chat = { messages: [{ role: 'user', content: repeating }], max_tokens: 30, temperature: 0 };
    const answer = json(await post(`${url}/v1/chat/completions`, chat));
    return [...(await Promise.all(texts)), (await answer).choices[0].message.content];
  };
  const want = await ask(plain);
  expect(await ask(drafting)).toEqual(want);
  const [drafted, accepted] = await counts(drafting);
  expect(drafted).toBeGreaterThan(0);
  expect(accepted).toBeLessThanOrEqual(drafted!);
  expect(await counts(plain)).toEqual([0, 0]);
});

const items = { type: 'array', items: { enum: [12, 13, 14] }, minItems: 8 };
const numbers = { type: 'json_schema', json_schema: { name: 'numbers', schema: items } };
const parameters = { type: 'object', properties: { items }, required: ['items'] };
const tool = { type: 'function', function: { name: 'f', parameters } };

test.each([
  ['a schema', { response_format: numbers }],
  ['log-probabilities', { logprobs: true, top_logprobs: 2 }],
  ['a tool that must be called', { tools: [tool], tool_choice: 'required' }],
])('%s: drafts, and the same answer', async (_, fields) => {
  const [before] = await counts(drafting);
  const messages = [{ role: 'user', content: repeating }];
  const body = { messages, max_tokens: 60, temperature: 0, ...fields };
  const ask = async ({ url }: RunningServer) => {
    const response = await post(`${url}/v1/chat/completions`, body);
    const [{ message, logprobs, finish_reason }] = (await json(response)).choices;
    const calls = message.tool_calls?.map((call: { function: object }) => call.function); // ids are random
    return { status: response.status, finish_reason, content: message.content, calls, logprobs };
  };
  const want = await ask(plain);
  expect(want.status).toBe(200);
  expect(await ask(drafting)).toEqual(want);
  expect((await counts(drafting))[0]).toBeGreaterThan(before!);
});

test('what cannot draft is refused before a request comes', async () => {
  const handler = (speculate: Parameters<typeof createHandler>[0]['speculate'], other = model) =>
    createHandler({ models: { demo: other }, speculate });
  expect(() => handler({ kind: 'draft', model })).toThrow(/must be another model/);
  expect(() => handler({ kind: 'lookup', maxDraft: 0 })).toThrow(/maxDraft/);
  const { profile, ...driver } = referenceDriver();
  using backend = defineBackend({ ...driver, profile: { ...profile, exactRows: 1 } });
  using inexact = await loadModel(demo, { backend });
  expect(() => handler({ kind: 'lookup' }, inexact)).toThrow(/profile.exactRows/);
});
