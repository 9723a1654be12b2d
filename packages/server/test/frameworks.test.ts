// Frameworks of agents, each with two rounds and a call: LangChain, LlamaIndex.TS.
import { ChatAnthropic } from '@langchain/anthropic';
import { AIMessageChunk, HumanMessage, SystemMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { tool as llamaIndexTool } from '@llamaindex/core/tools';
import { openai } from '@llamaindex/openai';
import { called, parameters, said, servedCaller, tokens } from './caller.js';

const caller = servedCaller();

const input = { path: 'a.ts' };
const described = { name: called.name, description: 'Reads a file.' };

const first = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'What is in a.ts?' },
];
const second = [
  ...first,
  { role: 'assistant', content: said, tool_calls: [{ function: { name: called.name } }] },
  { role: 'tool', content: 'let a;' },
];

const settings = { model: 'demo', apiKey: 'secret', temperature: 0, maxRetries: 0 };
const ofOpenAI = (useResponsesApi: boolean) =>
  new ChatOpenAI({ ...settings, useResponsesApi, configuration: { baseURL: `${caller.url}/v1` } });

describe('LangChain', () => {
  const readFile = tool(async () => 'let a;', { ...described, schema: parameters });
  const question = [new SystemMessage('Be brief.'), new HumanMessage('What is in a.ts?')];

  test.each([
    ['ChatOpenAI', () => ofOpenAI(false)],
    ['ChatOpenAI over responses', () => ofOpenAI(true)],
    ['ChatAnthropic', () => new ChatAnthropic({ ...settings, anthropicApiUrl: caller.url })],
  ])('%s: a call, and its result in a stream', async (_, chat) => {
    const bound = chat().bindTools([readFile]);
    const answer = await bound.invoke(question);
    expect([answer.text, answer.tool_calls]).toMatchObject([said, [{ name: called.name, args: input }]]);
    const result = await readFile.invoke(answer.tool_calls![0]!);
    let whole = new AIMessageChunk('');
    for await (const part of await bound.stream([...question, answer, result])) whole = whole.concat(part);
    expect([whole.text, whole.tool_calls]).toMatchObject([said, [{ name: called.name, args: input }]]);
    for (const { usage_metadata } of [answer, whole])
      expect(usage_metadata).toMatchObject({ output_tokens: tokens });
    expect(caller.chats).toMatchObject([first, second]);
  });

  test('the name of the tool reaches the template', async () => {
    const bound = ofOpenAI(false).bindTools([readFile]);
    const answer = await bound.invoke(question);
    await bound.invoke([...question, answer, await readFile.invoke(answer.tool_calls![0]!)]);
    expect(caller.chats[1]!.at(-1)).toMatchObject({ role: 'tool', name: called.name });
  });

  test('structured output', async () => {
    const schema = {
      type: 'object',
      properties: { title: { enum: ['Files'] } },
      required: ['title'],
      additionalProperties: false,
    };
    const titled = ofOpenAI(false).withStructuredOutput(schema, { name: 'title' });
    expect(await titled.invoke(question)).toEqual({ title: 'Files' });
  });
});

test('LlamaIndex.TS: a call, and its result in a stream', async () => {
  const llm = openai({ ...settings, baseURL: `${caller.url}/v1` });
  const readFile = llamaIndexTool({ ...described, parameters, execute: async () => 'let a;' });
  const question = [
    { role: 'system' as const, content: 'Be brief.' },
    { role: 'user' as const, content: 'What is in a.ts?' },
  ];
  const { newMessages, toolCalls } = await llm.exec({ messages: question, tools: [readFile] });
  expect(toolCalls).toMatchObject([{ name: called.name, input }]);
  const messages = [...question, ...newMessages];
  let text = '';
  const calls: unknown[] = [];
  for await (const { delta, options } of (await llm.exec({ messages, tools: [readFile], stream: true }))
    .stream) {
    text += delta;
    calls.push(options);
  }
  expect([text, calls.at(-1)]).toMatchObject([said, { toolCall: [{ name: called.name, input }] }]);
  expect(caller.chats).toMatchObject([first, second]);
});
