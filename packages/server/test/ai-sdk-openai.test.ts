// The AI SDK's provider of OpenAI, as it is by default: responses, with references to stored items. Versions 6 and 7.
import { createOpenAI } from '@ai-sdk/openai';
import { type ChatMessage, loadModel, type Model } from '@quern/runtime';
import * as ai6 from 'ai';
import * as ai7 from 'ai-7';
import { createOpenAI as createOpenAI7 } from 'ai-7-openai';
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
  const options = { backend: 'cpu', sequences: 2, context: 2048, chatTemplate } as const;
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

/** Notes the bodies of requests. */
const recording: typeof fetch = async (url, init) => {
  bodies.push(JSON.parse(init!.body as string));
  return fetch(url, init);
};

const provider = () => ({ baseURL: `${server.url}/v1`, apiKey: 'secret', fetch: recording });

const question = { prompt: 'The weather?', temperature: 0, maxRetries: 0 };
const weather = { description: 'The weather.', execute: async () => 'rain' };
const parameters = { type: 'object', properties: {} } as const;

const ask6 = (openai: Settings) => ({
  ...question,
  model: createOpenAI(provider())('demo'),
  system: 'Be brief.',
  stopWhen: ai6.stepCountIs(2),
  tools: { weather: ai6.tool({ ...weather, inputSchema: ai6.jsonSchema<object>(parameters) }) },
  providerOptions: { openai },
});

const ask7 = (openai: Settings) => ({
  ...question,
  model: createOpenAI7(provider())('demo'),
  instructions: 'Be brief.',
  stopWhen: ai7.isStepCount(2),
  tools: { weather: ai7.tool({ ...weather, inputSchema: ai7.jsonSchema<object>(parameters) }) },
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

const ways: Record<string, (openai: Settings) => Promise<string>> = {
  'generateText of ai 6': async (openai) => (await ai6.generateText(ask6(openai))).text,
  'generateText of ai 7': async (openai) => (await ai7.generateText(ask7(openai))).text,
  'streamText of ai 6': async (openai) => ai6.streamText(ask6(openai)).text,
  'streamText of ai 7': async (openai) => ai7.streamText(ask7(openai)).text,
};

describe.each(Object.entries(ways))('%s', (_, run) => {
  beforeEach(() => {
    chats.length = 0;
    bodies.length = 0;
  });

  test('the second round refers to stored items', async () => {
    expect(await run({})).toBe('Let me see');
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
