import { AnswerParser } from '../../../src/chat/answer/index.js';
import { type ChatMessage, ChatTemplate } from '../../../src/chat/index.js';
import { ChatGeneration } from '../../../src/generation/chat-generation.js';
import type { ChatPiece } from '../../../src/generation/chat-result.js';
import type {
  EndReason,
  GenerationPiece,
  GenerationResult,
} from '../../../src/generation/generate-options.js';
import { nothing } from '../../../src/generation/generation.js';
import { type ChatTool, namedTools } from '../../../src/generation/tool-options.js';
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
}

const question: ChatMessage = { role: 'user', content: 'Weather?' };

function chat(answers: readonly (string | Told)[], options: ChatOptions, oneCallPerMessage = false): Chat {
  const asked: (readonly ChatMessage[])[] = [];
  const runs: Told[] = [];
  let ids = 0;
  const begin = async (messages: readonly ChatMessage[]) => {
    const answer = answers[asked.push(messages) - 1]!;
    const run = typeof answer === 'string' ? new Told(answer) : answer;
    runs.push(run);
    const parser = new AnswerParser({ calls: 'hermes', thinking: 'parted', newId: () => `id${ids++}` });
    return { run, parser };
  };
  const source = () => ({ tools: namedTools(options), oneCallPerMessage, begin });
  return { generation: new ChatGeneration(source, [question], options), asked, runs };
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
    "Error: there is no tool 'nosuch'; there are 'bad', 'good', 'empty'",
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

test('tools need names of their own', () => {
  expect(() => namedTools({ tools: [{ type: 'function' }] })).toThrow('tools[0] has no name');
  expect(() => namedTools({ tools: [tool('a'), tool('a')] })).toThrow("two tools of the name 'a'");
  expect(() => namedTools({ tools: [{ ...tool('a'), run: 5 }] })).toThrow('tools[0].run must be a function');
});
