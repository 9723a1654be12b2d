// The AI SDK's provider of OpenAI, as it is by default: responses, with references to stored items.
import { createOpenAI } from '@ai-sdk/openai';
import { type ChatMessage, loadModel, type Model } from '@quern/runtime';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import type { RunningServer } from '../src/index.js';
import { serving } from './serving.js';

const pieces = [
  '<think>',
  'Hm',
  ' rain',
  '</think>',
  'Let',
  ' me',
  ' see',
  '<tool_call>',
  '{"name": "weather"',
  ', "arguments": ',
  '{}',
  '}',
  '</tool_call>',
];

const controls = ['</tool_call>', '<tool_call>', '<think>', '</think>'];
const chatTemplate = `{# <tool_call> <think> #}{% for m in messages %}{{ m.content }}
{%- if m.reasoning_content %} ({{ m.reasoning_content }}){% endif %}{% endfor %}
{%- if tools %}{{ tools | tojson }}{% endif %}¶`;

let model: Model;
let server: RunningServer;
const chats: (readonly ChatMessage[])[] = [];
const bodies: { readonly input: readonly { readonly type?: string }[] }[] = [];
beforeAll(async () => {
  const path = await writeScriptedModel(pieces, { controls, context: 2048 });
  const options = { backend: 'cpu', cache: 'paged', sequences: 2, context: 2048, chatTemplate } as const;
  model = await loadModel(path, { ...options, onNotice: () => {} });
  const chat = model.chat.bind(model);
  model.chat = ((...args: Parameters<Model['chat']>) => {
    chats.push(args[0]);
    return chat(...args);
  }) as Model['chat'];
  server = await serving(model, { apiKeys: ['secret'] });
});
afterAll(async () => {
  await server.close();
  model.dispose();
});

type Settings = Readonly<Record<string, boolean | string[]>>;

const ask = (openai: Settings = {}) => ({
  model: createOpenAI({
    baseURL: `${server.url}/v1`,
    apiKey: 'secret',
    fetch: async (url, init) => {
      bodies.push(JSON.parse(init!.body as string));
      return fetch(url, init);
    },
  })('demo'),
  system: 'Be brief.',
  prompt: 'The weather?',
  temperature: 0,
  maxRetries: 0,
  stopWhen: stepCountIs(2),
  tools: {
    weather: tool({
      description: 'The weather.',
      inputSchema: jsonSchema<object>({ type: 'object', properties: {} }),
      execute: async () => 'rain',
    }),
  },
  providerOptions: { openai },
});

const first = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'The weather?' },
];
const second = [
  ...first,
  {
    role: 'assistant',
    content: 'Let me see',
    tool_calls: [{ function: { name: 'weather', arguments: '{}' } }],
  },
  { role: 'tool', content: 'rain' },
];

const ways: Record<string, (openai?: Settings) => Promise<string>> = {
  generateText: async (openai) => (await generateText(ask(openai))).text,
  streamText: async (openai) => {
    const stream = streamText(ask(openai));
    await stream.consumeStream();
    return stream.text;
  },
};

describe.each(Object.entries(ways))('%s', (_, run) => {
  beforeEach(() => {
    chats.length = 0;
    bodies.length = 0;
  });

  test('the second round refers to stored items', async () => {
    expect(await run()).toBe('Let me see');
    expect(chats).toMatchObject([first, second]);
    expect(bodies[1]!.input.map(({ type }) => type)).toContain('item_reference');
    expect(chats[1]![2]).toMatchObject({ reasoning_content: 'Hm rain' });
  });

  test('store: false: it sends them', async () => {
    expect(await run({ store: false })).toBe('Let me see');
    expect(chats).toMatchObject([first, second]);
    expect(bodies[1]!.input.map(({ type }) => type)).not.toContain('item_reference');
    expect(chats[1]![2]).not.toHaveProperty('reasoning_content');
  });

  test('store: false: thoughts come back as encrypted_content', async () => {
    expect(await run({ store: false, include: ['reasoning.encrypted_content'] })).toBe('Let me see');
    expect(chats[1]![2]).toMatchObject({ ...second[2], reasoning_content: 'Hm rain' });
    const reasoning = bodies[1]!.input.find(({ type }) => type === 'reasoning');
    expect(reasoning).toMatchObject({ encrypted_content: expect.stringMatching(/^quern1\./), summary: [] });
  });
});
