import { createBackend } from '@quern/backend-reference';
import type { Backend } from '@quern/core';
import { type ChatOptions, loadModel, type Model } from '../../src/index.js';
import { writeTinyModel } from '../tiny-model.js';

let backend: Backend;
let path: string;

/** Token 1 is a control token: `<think>`. */
beforeAll(async () => {
  backend = await createBackend();
  path = await writeTinyModel({ spell: (token) => (token === '<s>' ? '<think>' : token) });
});
afterAll(() => backend.dispose());

const turns = '{% for m in messages %}{{ m.role }}: {{ m.content }}. {% endfor %}';
const withTools = `{% if tools %}{{ tools | tojson }}{% endif %}${turns}`;
const load = (chatTemplate: string): Promise<Model> =>
  loadModel(path, { backend, chatTemplate, context: 96 });
const question = [{ role: 'user', content: 'hi' }];
const greedy: ChatOptions = { temperature: 0, maxTokens: 6, ignoreEos: true };
const tool = { type: 'function', function: { name: 'f' } };

test('an answer to a prompt that opens thoughts is thinking until they end', async () => {
  using model = await load(`${turns}{{ "<think>" }}`);
  const { text, thinking } = await model.chat(question, greedy).result;
  const plain = await model.chat(question, { ...greedy, choices: ['yes'], ignoreEos: false }).result;
  expect(text).toBe('');
  expect(thinking.length).toBeGreaterThan(0);
  expect(plain).toMatchObject({ text: 'yes', thinking: '' }); // what a structure demands is the answer
});

test('marks that are control tokens are seen, and only they', async () => {
  using model = await load(`${turns}{# </think> #}`);
  const options = { ...greedy, logitBias: { 1: 1e4 } };
  using session = model.session();
  const { text, thinking, tokens } = await session.chat(question, options).result;
  expect(tokens).toEqual([1, 1, 1, 1, 1, 1]);
  expect({ text, thinking }).toEqual({ text: '', thinking: '<think>'.repeat(5) });
  using other = await load(turns);
  expect(await other.chat(question, options).result).toMatchObject({ text: '', thinking: '', tokens });
});

test.each<[ChatOptions, string]>([
  [{ tools: [tool] }, 'does not show how it writes calls of tools: set callFormat to mistral-args'],
  [{ tools: [tool], toolChoice: { name: 'g' } }, "toolChoice names 'g', which is not among the tools"],
  [{ toolChoice: 'required' }, "toolChoice: 'required' needs tools"],
  [{ tools: [tool], toolChoice: 'required', ignoreEos: true }, 'toolChoice and ignoreEos exclude each other'],
  [{ tools: [tool], toolChoice: 'required', callFormat: 'none' }, "callFormat: 'none' cannot enforce calls"],
  [{ tools: [tool], schema: true }, 'options schema and tools exclude each other'],
  [{ thinking: false }, 'has no switch for thinking'],
  [{ toolChoice: 'any' as 'auto' }, 'toolChoice'],
  [{ callFormat: 'xml' as 'none' }, 'callFormat'],
  [{ maxRounds: 0 }, 'maxRounds'],
])('%j is refused', async (options, message) => {
  using model = await load(withTools);
  await expect((async () => model.chat(question, options).result)()).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining(message),
  });
});

test('the template gets descriptions without functions, none with toolChoice none, and the switch', async () => {
  using model = await load(`{% if enable_thinking is defined %}{{ enable_thinking }}{% endif %}${withTools}`);
  const prompt = async (options: ChatOptions) =>
    (await model.chat(question, { ...options, maxTokens: 0, callFormat: 'none' }).result).promptTokens;
  const described = await prompt({ tools: [tool] });
  expect(await prompt({ tools: [{ ...tool, run: () => 1 }] })).toBe(described);
  expect(await prompt({ tools: [tool], toolChoice: 'none' })).toBe(await prompt({}));
  expect(await prompt({})).toBeLessThan(described);
  expect(await prompt({ thinking: false })).toBeGreaterThan(await prompt({}));
});
