// What does not compile, and what types say: checked by tsc. Every @ts-expect-error fails the type check where its line compiles.
import { z } from 'zod';
import { z as three } from 'zod-3';
import {
  type ChatMessage,
  type ChatTool,
  type Generation,
  type GenerationResult,
  type Model,
  type ToolChoice,
  tool,
} from '../../src/index.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(equal: Equal<A, B>): void => expect(equal).toBe(true);

test('the arguments of run have the type of parameters', () => {
  const shape = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
  tool({
    name: 'zod',
    parameters: z.object({ city: z.string(), days: z.number().default(1) }),
    run(args, { id, signal }) {
      same<typeof args, { city: string; days: number }>(true);
      same<[typeof id, typeof signal], [string, AbortSignal]>(true);
    },
  });
  tool({
    name: 'zod-3',
    parameters: three.object({ city: three.string() }),
    jsonSchema: shape,
    run: ({ city }) => same<typeof city, string>(true),
  });
  tool({ name: 'a schema', parameters: shape, run: ({ city }) => same<typeof city, string>(true) });
  tool({
    name: 'inline',
    parameters: { type: 'object', properties: { unit: { enum: ['C', 'F'] } }, required: ['unit'] },
    run: ({ unit }) => same<typeof unit, 'C' | 'F'>(true),
  });
  const wide: { type: string; properties: object } = { type: 'object', properties: {} };
  tool({
    name: 'not const',
    parameters: wide,
    run: (args) => same<typeof args, Record<string, unknown>>(true),
  });
  tool({ name: 'none', run: (args) => same<typeof args, Record<string, unknown>>(true) });
});

test('a tool has a name, or its key in tools', () => {
  const unnamed = tool({ description: 'x', run: () => 1 });
  const named: ChatTool = tool({ name: 'f', run: () => 1 });
  const ask = (model: Model, messages: ChatMessage[]) => [
    model.chat(messages, { tools: { f: unnamed, g: named } }),
    model.chat(messages, { tools: [named] }),
    // @ts-expect-error: no name
    model.chat(messages, { tools: [unnamed] }),
  ];
  expect(ask).toBeInstanceOf(Function);
});

test('misspelt fields of tools', () => {
  const run = () => 1;
  const tools: readonly ChatTool[] = [
    { type: 'function', function: { name: 'f', description: 'x', parameters: {}, strict: true }, run },
    // @ts-expect-error
    { type: 'function', funtion: { name: 'f' } },
    // @ts-expect-error
    { type: 'function', function: { name: 'f', stict: true } },
    // @ts-expect-error
    { type: 'function', function: { name: 'f' }, execute: run },
    // @ts-expect-error
    { type: 'function', function: { name: 'f' }, strict: true },
  ];
  expect(tools).toHaveLength(5);
  // @ts-expect-error
  expect(() => tool({ name: 'f', execute: run })).toThrow(
    "tool.execute is a function: a tool's function is 'run'",
  );
  // @ts-expect-error
  expect(() => tool({ name: 'f', stict: true })).toThrow("tool has 'stict': did you mean 'strict'?");
});

test('misspelt fields of messages; fields that only templates know', () => {
  const list: readonly ChatMessage[] = [
    { role: 'user', content: 'x' },
    { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: '1', name: 'f', content: 'x' },
    // @ts-expect-error
    { role: 'user', contents: 'x' },
    // @ts-expect-error
    { role: 'user', content: 'x', tool_cals: [] },
    // @ts-expect-error
    { role: 'user' },
  ];
  const planned = { role: 'assistant', content: 'x', tool_plan: 'y' };
  const wide: readonly ChatMessage[] = [planned];
  expect([...list, ...wide]).toHaveLength(7);
});

test('choices as const narrow text and value; a choice of one tool', () => {
  const types = async (model: Model) => {
    const whole = await model.generate('a', { choices: ['red', 'green'] as const }).result;
    same<typeof whole, GenerationResult<'red' | 'green', 'red' | 'green'>>(true);
    const { text, value } = await model.session().chat([], { choices: ['yes', 'no'] }).result;
    same<typeof text, 'yes' | 'no'>(true);
    same<typeof value, 'yes' | 'no' | undefined>(true);
    const free = model.generate('a', { maxTokens: 1 });
    same<typeof free, Generation<unknown, string>>(true);
    const some: string[] = [];
    const { text: wide } = await model.generate('a', { choices: some }).result;
    same<typeof wide, string>(true);
    const { value: city } = await model.session().generate('a', { schema: z.object({ city: z.string() }) })
      .result;
    same<typeof city, { city: string } | undefined>(true);
  };
  const forms: ToolChoice[] = [
    { name: 'f' },
    { type: 'function', name: 'f' },
    { type: 'function', function: { name: 'f' } },
  ];
  expect([types, forms.length]).toEqual([expect.any(Function), 3]);
});
