// The AI SDK, by its provider for servers that are compatible with OpenAI's.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, Output, streamText, tool } from 'ai';
import { loadDemo, served } from './serving.js';

const template = `{% for tool in tools or [] %}<tools>{{ tool | tojson }}</tools><tool_call>{% endfor %}
{%- for message in messages %}{{ message.role }}: {{ message.content or '' }}
{% endfor %}assistant: `;

const server = served(() => loadDemo(4, { chatTemplate: template, context: 1024 }), { apiKeys: ['secret'] });

describe('the AI SDK', () => {
  const provider = () =>
    createOpenAICompatible({
      name: 'quern',
      baseURL: `${server.url}/v1`,
      apiKey: 'secret',
      supportsStructuredOutputs: true,
      includeUsage: true,
    });
  const ask = () => ({
    model: provider()('demo'),
    prompt: 'Tell me a story.',
    temperature: 0,
    maxOutputTokens: 12,
  });

  test('generateText and streamText: the same text', async () => {
    const { text, usage, finishReason } = await generateText(ask());
    expect([usage.outputTokens, finishReason]).toEqual([12, 'length']);
    const stream = streamText(ask());
    let streamed = '';
    for await (const part of stream.textStream) streamed += part;
    expect(streamed).toBe(text);
    expect((await stream.usage).outputTokens).toBe(12);
  });

  test('structured output', async () => {
    const schema = jsonSchema<{ n: number }>({
      type: 'object',
      properties: { n: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['n'],
      additionalProperties: false,
    });
    const { output } = await generateText({
      ...ask(),
      maxOutputTokens: 60,
      output: Output.object({ schema }),
    });
    expect(output.n).toBeGreaterThan(0);
  });

  test('a tool that must be called', async () => {
    const inputSchema = jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { enum: ['Rome', 'Oslo'] } },
      required: ['city'],
      additionalProperties: false,
    });
    const weather = tool({ description: 'x', inputSchema, execute: async ({ city }) => `rain in ${city}` });
    const { toolResults } = await generateText({
      ...ask(),
      maxOutputTokens: 100,
      tools: { weather },
      toolChoice: 'required',
    });
    expect(toolResults[0]!.output).toMatch(/^rain in (Rome|Oslo)$/);
  });
});
