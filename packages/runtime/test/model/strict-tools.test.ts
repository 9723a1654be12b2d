// Calls of strict tools fit their schemas, whatever the model would rather write.
import { type ChatOptions, loadModel, type Model } from '../../src/index.js';
import { hasCpu } from '../backends.js';
import { writeScriptedModel } from '../scripted-model.js';

const tool = (strict?: boolean | null, schema: object = {}) => ({
  type: 'function' as const,
  function: {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: { city: { enum: ['Rome', 'Oslo'] }, days: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['city'],
      additionalProperties: false,
      ...schema,
    },
    ...(strict !== undefined && { strict }),
  },
});
const messages = [{ role: 'user', content: 'The weather?' }];

/** The model's own call has no arguments. */
const pieces = [
  'Well.',
  '<tool_call>',
  '\n',
  '{"name": "weather"',
  ', "arguments": ',
  '{}',
  '} ',
  '</tool_call>',
];
const controls = ['</tool_call>', '<tool_call>'];

describe.each(hasCpu ? ['cpu'] : ['reference'])('on backend %s', (backend) => {
  let model: Model;
  let drafting: Model;
  beforeAll(async () => {
    const path = await writeScriptedModel(pieces, { controls });
    const options = { backend, sequences: 4, blockSize: 16 } as const;
    model = await loadModel(path, options);
    drafting = await loadModel(path, options);
  });
  afterAll(() => {
    model.dispose();
    drafting.dispose();
  });

  const ask = async (options: ChatOptions) =>
    model.chat(messages, { maxTokens: 250, temperature: 0, ...options }).result;

  test('without strict the model writes what it likes', async () => {
    const { text, calls, reason } = await ask({ tools: [tool()] });
    expect([text, reason]).toEqual(['Well.', 'calls']);
    expect(calls).toMatchObject([{ name: 'weather', arguments: '{}' }]);
  });

  const lookup = { kind: 'lookup', maxNgram: 1, maxDraft: 6, adaptive: false } as const;
  const draft = () => ({ kind: 'draft', model: drafting, maxDraft: 6, adaptive: false }) as const;
  const ways: readonly (readonly [string, () => ChatOptions])[] = [
    ['greedy', () => ({})],
    ['drawn by the device', () => ({ temperature: 1, seed: 3 })],
    ['drawn in JavaScript', () => ({ temperature: 1, seed: 3, topK: 0, presencePenalty: 0.1 })],
    ['with log-probabilities', () => ({ logprobs: 1 })],
    ['with drafts', () => ({ speculate: lookup })],
    ['with a draft model', () => ({ speculate: draft() })],
    ['drawn, with a draft model', () => ({ speculate: draft(), temperature: 1, seed: 5 })],
  ];
  const expectFits = (json: string) => {
    const { city, days = 1, ...others } = JSON.parse(json);
    expect(['Rome', 'Oslo']).toContain(city);
    expect(days >= 1 && days <= 9 && Number.isInteger(days)).toBe(true);
    expect(others).toEqual({});
  };

  test.each(ways)('strict, %s: the arguments fit; all else is as before', async (_, of) => {
    const options = of();
    const { text, calls, reason, logprobs, tokens } = await ask({ tools: [tool(true)], ...options });
    expect([text.slice(0, 5), reason]).toEqual(['Well.', 'calls']);
    for (const call of calls) expectFits(call.arguments); // behind characters of JSON the model has no preference
    if (options.logprobs !== undefined) expect(logprobs).toHaveLength(tokens.length);
  });

  test('several at once, with free ones beside them', async () => {
    const found = await Promise.all(
      [true, undefined, true, null].map((strict, seed) =>
        ask({ tools: [tool(strict)], temperature: 1, seed }),
      ),
    );
    for (const [i, { text, calls }] of found.entries()) {
      expect([text.slice(0, 5), calls.length > 0]).toEqual(['Well.', true]);
      if (i % 2 === 0) expectFits(calls[0]!.arguments);
      else expect(calls[0]!.arguments).toBe('{}');
    }
  });

  test('answers of later rounds, and after an enforced one', async () => {
    const run = ({ city }: Record<string, unknown>) => `In ${city} it rains.`;
    for (const toolChoice of ['auto', 'required'] as const) {
      const { calls, messages: added } = await ask({
        tools: [{ ...tool(true), run }],
        toolChoice,
        parallelCalls: false,
        maxRounds: 3,
      });
      expect(added.filter(({ role }) => role === 'tool').length).toBeGreaterThanOrEqual(2);
      for (const call of calls) expectFits(call.arguments);
    }
  });

  test('the prompt does not show it', async () => {
    const counts = await Promise.all(
      [tool(), tool(true), tool(false)].map(
        async (each) => (await model.chatTokens(messages, { tools: [each] })).length,
      ),
    );
    expect(new Set(counts).size).toBe(1);
    const { promptTokens } = await ask({ tools: [tool(true)], maxTokens: 0 });
    expect(promptTokens).toBe(counts[0]);
  });

  test('what cannot be enforced is refused by name, and only where it is asked for', async () => {
    const unique = { properties: { a: { type: 'array', uniqueItems: true } } };
    await expect(ask({ tools: [tool(true, unique)] })).rejects.toMatchObject({
      code: 'BAD_GRAMMAR',
      message: expect.stringMatching(/tools, 'weather'.*uniqueItems/),
    });
    expect((await ask({ tools: [tool(false, unique)] })).calls).toHaveLength(1);
    await expect(ask({ tools: [tool(true)], callFormat: 'none' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('strict'),
    });
    // @ts-expect-error: strict belongs into function
    await expect(ask({ tools: [{ ...tool(), strict: true }] })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('tools[0].strict belongs into its function'),
    });
    const other = {
      type: 'function',
      function: { name: 'other', parameters: { type: 'object', ...unique } },
    };
    await expect(ask({ tools: [tool(), other], toolChoice: 'required' })).rejects.toMatchObject({
      message: expect.stringMatching(/tools, 'other'.*uniqueItems/),
    });
    await expect(ask({ tools: [tool('yes' as never)] })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: 'tools[0] must have a strict of true or false',
    });
  });
});
