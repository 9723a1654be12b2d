import { z } from 'zod';
import { z as three } from 'zod-3';
import { type AnswerCall, AnswerParser } from '../../../src/chat/answer/index.js';
import { type ChatMessage, ChatTemplate } from '../../../src/chat/index.js';
import type { ChatPiece } from '../../../src/generation/chat-result.js';
import type {
  EndReason,
  GenerationPiece,
  GenerationResult,
} from '../../../src/generation/generate-options.js';
import { ChatGeneration, nothing } from '../../../src/generation/generation.js';
import { tool as defineTool } from '../../../src/generation/tool.js';
import {
  type ChatTool,
  type ChatTools,
  type NamedTool,
  namedTools,
} from '../../../src/generation/tool-options.js';
import type { ChatOptions } from '../../../src/index.js';
import type { Production } from '../../../src/read-once.js';

/** A generation whose text is known, a few characters per piece. */
class Told implements Production<GenerationPiece, GenerationResult> {
  closed = false;
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly reason: EndReason = 'eos',
  ) {}

  async next(): Promise<GenerationPiece | undefined> {
    if (this.closed || this.at >= this.text.length) return undefined;
    this.at += 4;
    return { text: this.text.slice(this.at - 4, this.at), tokens: [this.at] };
  }

  close(): void {
    this.closed = true;
  }

  result(): GenerationResult {
    const reason = this.at >= this.text.length ? this.reason : 'abort';
    return { ...nothing, text: this.text.slice(0, this.at), reason, promptTokens: 10, tokens: [1, 2] };
  }
}

interface Chat {
  readonly generation: ChatGeneration;
  readonly asked: (readonly ChatMessage[])[];
  readonly runs: Told[];
  readonly notices: string[];
}

const question: ChatMessage = { role: 'user', content: 'Weather?' };

function chat(answers: readonly (string | Told)[], options: ChatOptions, oneCallPerMessage = false): Chat {
  const asked: (readonly ChatMessage[])[] = [];
  const runs: Told[] = [];
  const notices: string[] = [];
  const onNotice = (text: string) => void notices.push(text);
  let ids = 0;
  const begin = async (messages: readonly ChatMessage[]) => {
    const answer = answers[asked.push(messages) - 1]!;
    const run = typeof answer === 'string' ? new Told(answer) : answer;
    runs.push(run);
    const parser = new AnswerParser({ calls: 'hermes', thinking: 'parted', newId: () => `id${ids++}` });
    return { run, parser };
  };
  const source = () => ({ tools: namedTools(options), oneCallPerMessage, onNotice, begin });
  return { generation: new ChatGeneration(source, [question], options), asked, runs, notices };
}

const call = (name: string, args: string) =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;
const tool = (name: string, run?: ChatTool['run']): ChatTool => ({
  type: 'function',
  function: { name },
  ...(run && { run }),
});
const asCalls = (...calls: [string, string, string][]) =>
  calls.map(([id, name, args]) => ({ id, type: 'function', function: { name, arguments: args } }));
const read = async (generation: ChatGeneration): Promise<ChatPiece[]> => {
  const pieces: ChatPiece[] = [];
  for await (const piece of generation) pieces.push(piece);
  return pieces;
};

test('tools run, and the answer goes on with their results', async () => {
  const seen: unknown[] = [];
  const weather = tool('weather', async (args, { id }) => {
    seen.push([args, id]);
    return { sunny: true };
  });
  const answers = [`<think>hm</think>Let me see.\n${call('weather', '{"city": "Linz"}')}`, 'It is sunny.'];
  const { generation, asked } = chat(answers, { tools: [weather] });
  const pieces = await read(generation);
  const result = await generation.result;
  expect(seen).toEqual([[{ city: 'Linz' }, 'id0']]);
  const added = [
    {
      role: 'assistant',
      content: 'Let me see.',
      reasoning_content: 'hm',
      tool_calls: asCalls(['id0', 'weather', '{"city": "Linz"}']),
    },
    { role: 'tool', tool_call_id: 'id0', name: 'weather', content: '{"sunny":true}' },
  ];
  expect(asked).toEqual([[question], [question, ...added]]);
  expect(result).toMatchObject({
    text: 'Let me see.\n\nIt is sunny.',
    thinking: 'hm',
    calls: [{ id: 'id0', name: 'weather', arguments: '{"city": "Linz"}' }],
    reason: 'eos',
    promptTokens: 20,
    tokens: [1, 2, 1, 2],
    messages: [...added, { role: 'assistant', content: 'It is sunny.' }],
  });
  expect(pieces.map(({ text }) => text).join('')).toBe(result.text);
  expect(pieces.map(({ thinking }) => thinking).join('')).toBe('hm');
  const written = pieces.flatMap(({ calls }) => calls);
  expect(written.map((each) => each.arguments).join('')).toBe('{"city": "Linz"}');
  expect(new Set(written.map(({ index, id, name }) => `${index} ${id} ${name}`))).toEqual(
    new Set(['0 id0 weather']),
  );
});

test('without functions the answer ends with its calls; an unknown tool is no reason to go on', async () => {
  for (const tools of [[tool('weather')], [tool('other', () => 1), tool('weather')]]) {
    const { generation, asked } = chat([`${call('weather', '{}')}${call('nosuch', '{}')}`], { tools });
    const { reason, calls, messages, text } = await generation.result;
    expect({ reason, text, names: calls.map(({ name }) => name) }).toEqual({
      reason: 'calls',
      text: '',
      names: ['weather', 'nosuch'],
    });
    expect(messages).toEqual([
      {
        role: 'assistant',
        content: '',
        tool_calls: asCalls(['id0', 'weather', '{}'], ['id1', 'nosuch', '{}']),
      },
    ]);
    expect(asked.length).toBe(1);
  }
});

test('errors are results: of the tool, of its arguments, of its name', async () => {
  const tools = [
    tool('bad', () => {
      throw new Error('no luck');
    }),
    tool('good', () => 'as it is'),
    tool('empty', () => {}),
  ];
  const calls = [
    call('bad', '{}'),
    call('good', '{"a": oops}'),
    call('nosuch', '{}'),
    call('good', '{}'),
    call('empty', '{}'),
  ];
  const { generation, asked } = chat([calls.join('\n'), 'Well.'], { tools });
  expect((await generation.result).calls.map(({ id }) => id)).toEqual(['id0', 'id1', 'id2', 'id3', 'id4']);
  expect(asked[1]!.slice(2).map(({ content }) => content)).toEqual([
    'Error: no luck',
    `Error: the arguments of 'good' are not a JSON object: {"a": oops}}\n`,
    "Error: there is no tool 'nosuch'; known tools: 'bad', 'good', 'empty'",
    'as it is',
    '',
  ]);
});

test('broken arguments are shown as none, so that templates take the message', async () => {
  const { generation, asked } = chat([call('good', '{"a": oops}'), 'Well.'], {
    tools: [tool('good', () => 1)],
  });
  const { calls, messages } = await generation.result;
  expect(calls[0]!.arguments).toBe('{"a": oops}}\n');
  expect(messages[0]!.tool_calls).toEqual(asCalls(['id0', 'good', '{}']));
  expect(() => ChatTemplate.builtin('chatml').render(asked[1]!)).not.toThrow();
});

test('digits beyond 2^53: rounded in the arguments, whole in their text and in results', async () => {
  const seen: unknown[] = [];
  const double = tool('double', ({ id }, { arguments: text }) => {
    seen.push([id, text]);
    return { id: 2n * 1234567890123456789n };
  });
  const args = '{"id": 1234567890123456789}';
  const { generation, asked } = chat([call('double', args), 'Well.'], { tools: [double] });
  await generation.result;
  expect(seen).toEqual([[1234567890123456800, args]]);
  expect(asked[1]![2]!.content).toBe('{"id":2469135780246913578}');
});

test('maxRounds ends the loop; indices go on', async () => {
  const again = call('weather', '{}');
  const { generation, asked } = chat([again, again, again], {
    tools: [tool('weather', () => 1)],
    maxRounds: 2,
  });
  const pieces = await read(generation);
  expect((await generation.result).reason).toBe('calls');
  expect(asked.length).toBe(2);
  expect([...new Set(pieces.flatMap(({ calls }) => calls.map(({ index }) => index)))]).toEqual([0, 1]);
});

test('a cut answer runs nothing', async () => {
  const { generation, asked } = chat([new Told(call('weather', '{}'), 'length')], {
    tools: [tool('weather', () => 1)],
  });
  expect((await generation.result).reason).toBe('length');
  expect(asked.length).toBe(1);
});

test('parallelCalls: false ends the answer before a second call', async () => {
  const { generation, runs } = chat([`${call('a', '{}')}\n${call('b', '{}')} and more`], {
    tools: [tool('a'), tool('b')],
    parallelCalls: false,
  });
  const { reason, calls } = await generation.result;
  expect({ reason, calls }).toEqual({ reason: 'calls', calls: [{ id: 'id0', name: 'a', arguments: '{}' }] });
  expect(runs[0]!.closed).toBe(true);
});

test('an abort while a tool runs ends the chat', async () => {
  const caller = new AbortController();
  let seen: AbortSignal | undefined;
  const slow = tool('slow', (_, { signal }) => {
    seen = signal;
    setImmediate(() => caller.abort());
    return new Promise(() => {});
  });
  const { generation, asked } = chat([`Wait. ${call('slow', '{}')}`], {
    tools: [slow],
    signal: caller.signal,
  });
  const { reason, text } = await generation.result;
  expect({ reason, text, aborted: seen!.aborted }).toEqual({ reason: 'abort', text: 'Wait.', aborted: true });
  expect(asked.length).toBe(1);
});

test('a reader that leaves while a tool runs does not wait for it', async () => {
  let seen: AbortSignal | undefined;
  const slow = tool('slow', (_, { signal }) => {
    seen = signal;
    return new Promise(() => {});
  });
  const { generation, asked } = chat([`Wait. ${call('slow', '{}')}`], { tools: [slow] });
  const reader = generation[Symbol.asyncIterator]();
  const rest = (async () => {
    while (!(await reader.next()).done);
  })();
  while (!seen) await new Promise((resolve) => setImmediate(resolve));
  await reader.return?.();
  await rest;
  const { reason, text } = await generation.result;
  expect({ reason, text, aborted: seen.aborted }).toEqual({ reason: 'abort', text: 'Wait.', aborted: true });
  expect(asked.length).toBe(1);
});

test('a reader that leaves closes the answer', async () => {
  const { generation, runs } = chat(['A long answer.'], {});
  for await (const _ of generation) break;
  const { reason, text, messages } = await generation.result;
  expect({ reason, text }).toEqual({ reason: 'abort', text: 'A lo' });
  expect(messages).toEqual([{ role: 'assistant', content: 'A lo' }]);
  expect(runs[0]!.closed).toBe(true);
});

test('one call per message, for templates that take no more', async () => {
  const tools = [tool('a', () => 1), tool('b', () => 2)];
  const { generation, asked } = chat([`So: ${call('a', '{}')}${call('b', '{}')}`, 'Done.'], { tools }, true);
  await generation.result;
  expect(asked[1]!.slice(1)).toEqual([
    { role: 'assistant', content: 'So:', tool_calls: asCalls(['id0', 'a', '{}']) },
    { role: 'tool', tool_call_id: 'id0', name: 'a', content: '1' },
    { role: 'assistant', content: '', tool_calls: asCalls(['id1', 'b', '{}']) },
    { role: 'tool', tool_call_id: 'id1', name: 'b', content: '2' },
  ]);
});

describe('what became of calls', () => {
  const failing = tool('bad', () => {
    throw new Error('no luck');
  });
  const answers = [`${call('bad', '{}')}${call('good', '{}')}${call('nosuch', '{}')}`, 'Well.'];
  const tools = [failing, tool('good', () => ({ a: 1 }))];

  test('is in a piece of its own, in the result, and told to onToolError', async () => {
    const told: unknown[] = [];
    const onToolError = (error: Error, { name }: AnswerCall) => void told.push([name, error.message]);
    const { generation } = chat(answers, { tools, onToolError });
    const pieces = await read(generation);
    const noTool = "there is no tool 'nosuch'; known tools: 'bad', 'good'";
    expect(pieces.filter(({ results }) => results.length > 0)).toEqual([
      {
        ...{ text: '', thinking: '', tokens: [], calls: [] },
        results: [
          { index: 0, id: 'id0', name: 'bad', error: new Error('no luck'), content: 'Error: no luck' },
          { index: 1, id: 'id1', name: 'good', result: { a: 1 }, content: '{"a":1}' },
          {
            ...{ index: 2, id: 'id2', name: 'nosuch' },
            error: expect.objectContaining({ code: 'BAD_CALL', message: noTool }),
            content: `Error: ${noTool}`,
          },
        ],
      },
    ]);
    expect((await generation.result).calls).toEqual([
      { id: 'id0', name: 'bad', arguments: '{}', error: new Error('no luck') },
      { id: 'id1', name: 'good', arguments: '{}', result: { a: 1 } },
      { id: 'id2', name: 'nosuch', arguments: '{}', error: expect.objectContaining({ code: 'BAD_CALL' }) },
    ]);
    expect(told).toEqual([
      ['nosuch', noTool],
      ['bad', 'no luck'],
    ]);
  });

  test('without onToolError a notice tells what run threw, but not what the model did wrong', async () => {
    const { generation, notices } = chat(answers, { tools });
    await generation.result;
    expect(notices).toEqual([
      "the tool 'bad' failed: no luck. The model is told so; `onToolError` gets the error",
    ]);
  });

  test('what onToolError throws ends the answer', async () => {
    const { generation, asked } = chat(answers, {
      tools,
      onToolError: (error) => {
        throw error;
      },
    });
    await expect(generation.result).rejects.toThrow("there is no tool 'nosuch'");
    expect(asked).toHaveLength(1);
  });

  test('a reader that leaves after the results: they are in the messages, once', async () => {
    const { generation, asked } = chat(answers, { tools, onToolError: () => {} });
    for await (const { results } of generation) if (results.length > 0) break;
    const { reason, messages } = await generation.result;
    expect([reason, asked.length, messages.map(({ role }) => role)]).toEqual([
      'abort',
      1,
      ['assistant', 'tool', 'tool', 'tool'],
    ]);
  });
});

describe('arguments are checked before run', () => {
  const parameters = {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
    required: ['city'],
    additionalProperties: false,
  };
  const zod4 = z.object({ city: z.string(), days: z.coerce.number().int().min(1).default(3) });
  const zod3 = three.object({ city: three.string(), days: three.coerce.number().int().min(1).default(3) });

  async function told(schema: object, args: string) {
    const ran: unknown[] = [];
    const weather = defineTool({
      name: 'f',
      parameters: schema,
      jsonSchema: schema === zod3 ? parameters : undefined,
      run: (given) => void ran.push(given),
    });
    const onToolError = () => {};
    const { generation } = chat([call('f', args), 'Well.'], { tools: [weather], onToolError });
    return { ran, error: (await generation.result).calls[0]!.error?.message };
  }

  test.each([
    ['{}', 'Instance does not have required property "city"'],
    [
      '{"city": 5, "days": 0}',
      'city: Instance type "number" is invalid. Expected "string"; days: 0 is less than 1',
    ],
    ['{"city": "Linz", "town": 1}', 'town: is not allowed'],
  ])('a JSON schema: %s', async (args, faults) => {
    const { ran, error } = await told(parameters, args);
    expect(ran).toEqual([]);
    expect(error).toBe(`the arguments of 'f' do not fit its parameters: ${faults}`);
    expect((await told(parameters, '{"city": "Linz"}')).ran).toEqual([{ city: 'Linz' }]);
  });

  test.each([
    ['Zod 4', zod4],
    ['Zod 3', zod3],
  ])('%s: run gets what it makes of them', async (_, schema) => {
    expect((await told(schema, '{"city": "Linz"}')).ran).toEqual([{ city: 'Linz', days: 3 }]);
    expect((await told(schema, '{"city": "Linz", "days": "2"}')).ran).toEqual([{ city: 'Linz', days: 2 }]);
    const { ran, error } = await told(schema, '{"days": 0}');
    expect(ran).toEqual([]);
    expect(error).toMatch(/^the arguments of 'f' do not fit its parameters: city: .*; days: /);
  });

  test('a schema that is wrong is an error of its own', async () => {
    for (const [city, why] of [
      [{ $ref: '#/$defs/none' }, 'Unresolved \\$ref'],
      [{ pattern: '(' }, '.*Invalid regular expression'],
    ] as const) {
      const { ran, error } = await told({ properties: { city } }, '{"city": "Linz"}');
      expect(ran).toEqual([]);
      expect(error).toMatch(new RegExp(`^the parameters of 'f' cannot be checked: ${why}`));
    }
  });

  test('what has a default in Zod is not required; fields that Zod would drop are not allowed', () => {
    const [{ parameters: shown }] = namedTools({ tools: { f: defineTool({ parameters: zod4 }) } }) as [
      NamedTool,
    ];
    expect(shown).toMatchObject({ required: ['city'], additionalProperties: false });
    const open = z.looseObject({ a: z.object({ b: z.string() }) });
    const [{ parameters: inner }] = namedTools({ tools: { f: defineTool({ parameters: open }) } }) as [
      NamedTool,
    ];
    expect(inner).toMatchObject({
      additionalProperties: {},
      properties: { a: { additionalProperties: false } },
    });
  });
});

describe('tools that are refused', () => {
  const named = (tools: unknown) => () => namedTools({ tools: tools as ChatTools });
  const inner = { name: 'f' };
  test.each<[unknown, string]>([
    [
      [{ type: 'function', function: inner, execute() {} }],
      "tools[0].execute is a function: a tool's function is 'run'",
    ],
    [
      [{ type: 'function', function: { ...inner, run() {} } }],
      "tools[0].function.run is a function: a tool's function is 'run'",
    ],
    [[{ type: 'function', funtion: inner }], "tools[0] has 'funtion': did you mean 'function'?"],
    [
      [{ type: 'function', function: { ...inner, stict: true } }],
      "tools[0].function has 'stict': did you mean 'strict'?",
    ],
    [
      [{ type: 'function', function: { ...inner, inputSchema: {} } }],
      "tools[0].function has 'inputSchema': did you mean 'parameters'?",
    ],
    [
      [{ type: 'web_search', name: 'f' }],
      "tools[0].type is 'web_search' (a string); only tools of the type 'function' are supported",
    ],
    [
      { f: { description: 'x' } },
      'tools.f has no function: make it with tool({ description, parameters, run })',
    ],
    [{ f: tool('g') }, "tools.f has another name, 'g': leave it out"],
    [
      [defineTool({ name: 'f', parameters: three.object({}) })],
      'tools[0].parameters is a schema of zod without a JSON schema',
    ],
  ])('%j', (tools, message) => {
    expect(named(tools)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(message) }),
    );
  });

  test('fields that only templates know are theirs', () => {
    const [{ described }] = namedTools({
      tools: [{ ...tool('f'), function: { name: 'f', ...{ return: {} } } }],
    }) as [NamedTool];
    expect(described).toEqual({ type: 'function', function: { name: 'f', return: {} } });
  });
});

test('tools need names of their own', () => {
  expect(() => namedTools({ tools: [tool('')] })).toThrow('tools[0] has no name');
  expect(() => namedTools({ tools: [tool('a'), tool('a')] })).toThrow("two tools of the name 'a'");
  const wrong = { ...tool('a'), run: 5 as never };
  expect(() => namedTools({ tools: [wrong] })).toThrow('tools[0].run must be a function');
});
