// generateText, streamText, structured output and tools of the AI SDK, over the demo model.
import { loadModel, type Model } from '@quern/runtime';
import { generateObject, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import { createQuern, type QuernProvider } from '../src/index.js';
import { loadDemo } from './models.js';

let model: Model;
let quern: QuernProvider;
beforeAll(async () => {
  model = await loadDemo();
  quern = createQuern({ models: { demo: model } });
});
afterAll(() => model.dispose());

const ask = () => ({
  model: quern('demo'),
  prompt: 'Tell me a story.',
  temperature: 0,
  maxOutputTokens: 12,
});

describe('text', () => {
  test('whole and streamed: the text of the runtime, usage, reasons', async () => {
    const messages = [{ role: 'user', content: 'Tell me a story.' }];
    const direct = await model.chat(messages, { temperature: 0, maxTokens: 12, reuse: false }).result;
    const { text, usage, finishReason, rawFinishReason } = await generateText(ask());
    expect([text, finishReason, rawFinishReason]).toEqual([direct.text, 'length', 'length']);
    expect([usage.inputTokens, usage.outputTokens]).toEqual([direct.promptTokens, 12]);
    const stream = streamText(ask());
    let streamed = '';
    for await (const delta of stream.textStream) streamed += delta;
    expect(streamed).toBe(text);
    expect(await stream.finishReason).toBe('length');
    expect((await stream.usage).outputTokens).toBe(12);
    expect((await stream.response).modelId).toBe('demo');
  });

  test('cached tokens are counted', async () => {
    const prompt = 'The mill by the river turned all day long. '.repeat(8);
    await generateText({ ...ask(), prompt });
    const { usage } = await generateText({ ...ask(), prompt });
    const { cacheReadTokens, noCacheTokens } = usage.inputTokenDetails;
    expect(cacheReadTokens).toBeGreaterThan(0);
    expect(cacheReadTokens! + noCacheTokens!).toBe(usage.inputTokens);
  });

  test('settings reach the runtime', async () => {
    const sampled = { ...ask(), temperature: 1, topP: 0.9, topK: 30, seed: 7 };
    const [first, again, other] = [
      await generateText(sampled),
      await generateText(sampled),
      await generateText({ ...sampled, seed: 8 }),
    ];
    expect(again.text).toBe(first.text);
    expect(other.text).not.toBe(first.text);
    const { text } = await generateText(ask());
    const word = text.trim().split(' ')[1]!;
    const stopped = await generateText({ ...ask(), stopSequences: [word] });
    expect([stopped.finishReason, stopped.rawFinishReason]).toEqual(['stop', 'stop']);
    expect(stopped.text).toBe(text.slice(0, text.indexOf(word)));
    for (const narrow of [{ topP: 1e-6 }, { topK: 1 }])
      expect((await generateText({ ...ask(), temperature: 1, ...narrow })).text).toBe(text);
    const present = await generateText({ ...ask(), presencePenalty: 100 });
    expect(present.text).not.toBe(text);
    const penalised = await generateText({ ...ask(), maxOutputTokens: 60, frequencyPenalty: 2 });
    expect(penalised.text).not.toBe((await generateText({ ...ask(), maxOutputTokens: 60 })).text);
  });

  test('options of the runtime; unknown ones are refused by name', async () => {
    const { text } = await generateText({ ...ask(), providerOptions: { quern: { choices: ['yes', 'no'] } } });
    expect(text).toMatch(/^(yes|no)$/);
    const wrong = generateText({ ...ask(), providerOptions: { quern: { choice: ['yes'] } } });
    await expect(wrong).rejects.toThrow('no option "choice"');
  });

  test('a list of texts, a system message, an earlier answer', async () => {
    const { usage } = await generateText({
      ...ask(),
      prompt: [
        { role: 'system', content: 'You tell stories.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A fox?' },
            { type: 'text', text: 'Or a hen?' },
          ],
        },
        { role: 'assistant', content: 'A hen.' },
        { role: 'user', content: 'Go on.' },
      ],
      allowSystemInMessages: true,
    });
    const direct = await model.chatTokens([
      { role: 'system', content: 'You tell stories.' },
      { role: 'user', content: 'A fox?\nOr a hen?' },
      { role: 'assistant', content: 'A hen.' },
      { role: 'user', content: 'Go on.' },
    ]);
    expect(usage.inputTokens).toBe(direct.length);
  });
});

test('thoughts are reasoning, whole and streamed', async () => {
  const thinker = await loadDemo(
    '{% for message in messages %}{{ message.content }}{% endfor %}\nassistant: <think>\n',
  );
  try {
    const thinking = { ...ask(), model: createQuern({ models: { thinker } })('thinker') };
    const { reasoningText, text } = await generateText(thinking);
    expect([text, reasoningText?.length]).toEqual(['', expect.any(Number)]);
    expect(await streamText(thinking).reasoningText).toBe(reasoningText);
  } finally {
    thinker.dispose();
  }
});

describe('structured output', () => {
  const shape = { city: z.enum(['Rome', 'Oslo']), days: z.int().min(1).max(9) };

  test('generateObject and Output.object, with Zod', async () => {
    const schema = z.object(shape);
    const { object } = await generateObject({ ...ask(), maxOutputTokens: 80, schema });
    expect(schema.safeParse(object).success).toBe(true);
    const { output } = await generateText({
      ...ask(),
      maxOutputTokens: 80,
      output: Output.object({ schema }),
    });
    expect(output).toEqual(object);
  });

  test('streamed', async () => {
    const schema = z.object(shape);
    const stream = streamText({ ...ask(), maxOutputTokens: 80, output: Output.object({ schema }) });
    expect(schema.safeParse(await stream.output).success).toBe(true);
  });

  test('a schema that cannot be enforced is refused', async () => {
    const schema = jsonSchema({
      type: 'object',
      properties: { a: { type: 'array', uniqueItems: true } },
      required: ['a'],
    });
    const refused = generateText({ ...ask(), output: Output.object({ schema }) });
    await expect(refused).rejects.toMatchObject({ code: 'BAD_GRAMMAR' });
  });
});

describe('tools', () => {
  const inputSchema = z.object({ city: z.enum(['Rome', 'Oslo "x" {}']) });
  const weather = tool({ description: 'x', inputSchema, execute: async ({ city }) => `rain in ${city}` });
  const call = () => ({
    ...ask(),
    maxOutputTokens: 100,
    tools: { weather },
    toolChoice: 'required' as const,
  });

  test('called, whole and streamed alike', async () => {
    const { toolCalls, toolResults, finishReason } = await generateText(call());
    expect(finishReason).toBe('tool-calls');
    expect(toolResults[0]!.output).toBe(`rain in ${inputSchema.parse(toolCalls[0]!.input).city}`);
    const deltas: string[] = [];
    const kinds = new Set<string>();
    const stream = streamText(call());
    for await (const part of stream.fullStream) {
      kinds.add(part.type);
      if (part.type === 'tool-input-delta') deltas.push(part.delta);
    }
    expect([...kinds]).toEqual(expect.arrayContaining(['tool-input-start', 'tool-input-end', 'tool-result']));
    expect(deltas.length).toBeGreaterThan(1);
    expect((await stream.toolCalls)[0]!.input).toEqual(toolCalls[0]!.input);
    expect(JSON.parse(deltas.join(''))).toEqual(toolCalls[0]!.input);
  });

  test('one of two, by name; a second step with its result', async () => {
    const prompts: unknown[] = [];
    const { steps } = await generateText({
      ...call(),
      tools: { weather, news: weather },
      toolChoice: { type: 'tool', toolName: 'news' },
      stopWhen: stepCountIs(2),
      prepareStep: ({ stepNumber, messages }) => {
        prompts.push(messages);
        return stepNumber === 0 ? {} : { toolChoice: 'none' };
      },
    });
    expect(steps[0]!.toolCalls.map(({ toolName }) => toolName)).toEqual(['news']);
    expect(steps).toHaveLength(2);
    expect(JSON.stringify(prompts[1])).toContain('rain in');
    expect(steps[1]!.usage.inputTokens).toBeGreaterThan(0);
  });

  test('strict: the input fits, though the model would write another', async () => {
    const pieces = ['<tool_call>', '{"name": "weather"', ', "arguments": ', '{}', '} ', '</tool_call>'];
    const path = await writeScriptedModel(pieces, { controls: ['</tool_call>', '<tool_call>'] });
    const scripted = await loadModel(path, { backend: 'cpu' });
    const inputOf = async (strict: boolean) => {
      const { toolCalls } = await generateText({
        model: createQuern({ models: { scripted } })('scripted'),
        prompt: 'The weather?',
        temperature: 0,
        tools: {
          weather: tool({ description: 'x', inputSchema: z.object({ city: z.enum(['Rome']) }), strict }),
        },
      });
      return toolCalls.map(({ input }) => input);
    };
    expect(await inputOf(false)).toEqual([{}]);
    expect(await inputOf(true)).toEqual([{ city: 'Rome' }]);
    scripted.dispose();
  });

  test('tools of a provider, and examples, are warned of', async () => {
    const { warnings } = await quern('demo').doGenerate({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
      maxOutputTokens: 1,
      includeRawChunks: true,
      tools: [
        { type: 'provider', id: 'x.search', name: 'search', args: {} },
        { type: 'function', name: 'a', inputSchema: { type: 'object' }, inputExamples: [{ input: {} }] },
      ],
    });
    expect(warnings).toHaveLength(3);
    expect(warnings).toEqual(
      expect.arrayContaining([{ type: 'unsupported', feature: expect.stringContaining('x.search') }]),
    );
  });
});
