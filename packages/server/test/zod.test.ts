// Schemas of Zod in a model's own calls: the value has the schema's type.
import type { Model } from '@quern/runtime';
import { z } from 'zod';
import { hermesTemplate } from './hermes-template.mjs';
import { loadDemo } from './serving.js';

let model: Model;
beforeAll(async () => {
  model = await loadDemo();
});
afterAll(() => model.dispose());

const fox = z.object({
  name: z.string().max(10),
  age: z.int().min(0).max(20),
  colours: z.array(z.enum(['red', 'white'])).max(2),
  home: z.union([z.literal('den'), z.null()]),
});

test('generate: a typed value', async () => {
  const { value, text, reason } = await model.generate('A fox:', { schema: fox, temperature: 1, seed: 5 })
    .result;
  expect(reason).toBe('eos');
  const typed: z.output<typeof fox> = value!;
  expect(fox.parse(JSON.parse(text))).toEqual(typed);
});

test('chat: a schema that changes the value', async () => {
  const upper = z.object({ word: z.string().min(1).max(6).toUpperCase() });
  const plain = z.object({ word: z.string().min(1).max(6) });
  const messages = [{ role: 'user', content: 'A word?' }];
  const options = { temperature: 0, maxTokens: 60 } as const;
  const { value } = await model.chat(messages, { ...options, schema: plain }).result;
  const changed = await model.chat(messages, { ...options, schema: upper }).result;
  expect(changed.value!.word).toBe(value!.word.toUpperCase());
});

test('checks that a JSON schema cannot say are made at the end', async () => {
  const odd = z.object({ n: z.int().min(0).max(8) }).refine(({ n }) => n > 100);
  const { value, text } = await model.generate('A number:', { schema: odd, temperature: 0 }).result;
  expect(JSON.parse(text)).toHaveProperty('n');
  expect(value).toBeUndefined();
});

test('the parameters of a tool', async () => {
  const caller = await loadDemo(2, { chatTemplate: hermesTemplate, context: 1024 });
  const parameters = z.object({ city: z.enum(['Rome', 'Oslo']), days: z.int().min(1).max(9).optional() });
  const { $schema: _, ...json } = z.toJSONSchema(parameters, { io: 'output' });
  const call = (given: object) =>
    caller.chat([{ role: 'user', content: 'The weather?' }], {
      tools: [{ type: 'function', function: { name: 'weather', parameters: given, strict: true } }],
      toolChoice: 'required',
      parallelCalls: false,
      temperature: 0,
      maxTokens: 100,
    }).result;
  const [byZod, byJson] = [await call(parameters), await call(json)];
  expect(parameters.parse(JSON.parse(byZod.calls[0]!.arguments))).toBeDefined();
  expect([byZod.tokens, byZod.promptTokens]).toEqual([byJson.tokens, byJson.promptTokens]); // the template sees JSON
  caller.dispose();
});
