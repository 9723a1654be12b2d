import {
  callFormatOf,
  knowsThinking,
  opensThinking,
  thinkingVariable,
} from '../../../src/chat/answer/call-formats.js';
import { sharedText, testWithShared } from '../../tokenizer/shared-data.js';
import { part } from './read.js';

const only = (name: string, args: string) => ({
  text: '',
  thinking: '',
  calls: [{ id: 'id0', name, arguments: args }],
});
const tools = [{ name: 'f', parameters: { properties: { s: { type: 'string' } } } }];

describe('hermes', () => {
  const read = (...chunks: string[]) => part(chunks, { calls: 'hermes' });

  test('arguments are given as written, also parameters, and before the name', () => {
    expect(read('<tool_call>{"name":"f","arguments":{"a" : 1.0}}</tool_call>')).toEqual(
      only('f', '{"a" : 1.0}'),
    );
    expect(read('<tool_call>{"parameters":{"a":[1]},"name":"f"}</tool_call>')).toEqual(
      only('f', '{"a":[1]}'),
    );
  });

  test.each(['{"name": "f"}', '{"name": "f", "arguments": null}', '{"name": "f", "arguments": "{}"}'])(
    'a call without arguments: %s',
    (object) => {
      expect(read(`<tool_call>${object}</tool_call>`)).toEqual(only('f', '{}'));
    },
  );

  test('line breaks in strings become JSON', () => {
    expect(read('<tool_call>{"name": "f", "arguments": {"a": "x\n\ty"}}</tool_call>')).toEqual(
      only('f', '{"a": "x\\n\\ty"}'),
    );
  });

  test.each([
    '<tool_call>\nnot json</tool_call>',
    '<tool_call>{"name": 1}</tool_call>',
    '<tool_call>{"arguments": {}}</tool_call>',
    '<tool_call>{"name": "f", "arguments": [1]}</tool_call>',
    '<tool_call>{"name": "f", "argum',
    '<tool_call',
    '</tool_call>',
  ])('stays text: %s', (text) => {
    expect(read(...text)).toEqual({ text, thinking: '', calls: [] });
  });

  test('what is no JSON stays in the arguments, up to the closing mark', () => {
    const answer = '<tool_call>{"name": "f", "arguments": {"a": \'x\'}}</tool_call> so';
    expect(read(...answer)).toEqual({ ...only('f', '{"a": \'x\'}}'), text: 'so' });
  });

  test('a missing last brace, and several objects between two marks', () => {
    expect(read('<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>')).toEqual(only('f', '{"a": 1}'));
    const names = read('<tool_call>{"name": "f"}\n{"name": "g"}</tool_call>').calls.map(({ name }) => name);
    expect(names).toEqual(['f', 'g']);
  });

  test('an answer that ends inside of the arguments', () => {
    expect(read('<tool_call>{"name": "f", "arguments": {"a": "x')).toEqual(only('f', '{"a": "x'));
  });

  test('arguments come as they are written', () => {
    const parser = part(['<tool_call>{"name": "f", "arguments": {"a"', ': 1'], { calls: 'hermes' });
    expect(parser.calls[0]!.arguments).toBe('{"a": 1');
  });
});

describe('llama3-json', () => {
  const read = (text: string) => part([...text], { calls: 'llama3-json', tools });

  test('with and without the tag; other objects stay text', () => {
    expect(read('{"type": "function", "name": "f", "parameters": {"a": 1}}')).toEqual(only('f', '{"a": 1}'));
    expect(read('<|python_tag|>{"name": "f", "parameters": {}}')).toEqual(only('f', '{}'));
    expect(read('<|python_tag|>f.call(q="x")')).toEqual(only('f', '{"q": "x"}'));
    for (const text of [
      '{"name": "Bob", "parameters": {"age": 3}}',
      '{"age": 3, "name": "f"}',
      '<|python_tag|>print(x=1)',
      'a {b} {"c"}',
    ])
      expect(read(text)).toEqual({ text, thinking: '', calls: [] });
  });
});

describe('pythonic', () => {
  const read = (text: string) => part([...text], { calls: 'pythonic', tools });

  test.each([
    [
      "[f(a='it\\'s \"x\"', b=[1, (2,), {}], c={'k': None,})]",
      '{"a": "it\'s \\"x\\"", "b": [1, [2], {}], "c": {"k": null}}',
    ],
    [
      '[f(a=-.5, b=1_000, c=1., d=12345678901234567890, e=0x1f)]',
      '{"a": -0.5, "b": 1000, "c": 1, "d": 12345678901234567890, "e": 31}',
    ],
    ['[f(a="\\x41\\u00fc\\U0001F600\\q\\n")]', '{"a": "A\\u00fc😀\\\\q\\n"}'],
    ['[ f ( ) ]', undefined],
    ['[f()]', '{}'],
    ['[f(a=foo)]', '{"a": foo)]'],
    ['[f(a={"k": })]', '{"a": {"k": })]'],
    ['[link](f) [1] [other(a=1)]', undefined],
  ])('%s', (text, args) => {
    expect(read(text)).toEqual(args === undefined ? { text, thinking: '', calls: [] } : only('f', args));
  });
});

describe('mistral', () => {
  const read = (text: string) => part([...text], { calls: 'mistral' });

  test('names with and without [ARGS], and a call id', () => {
    for (const text of ['f[ARGS]{"a": 1}', 'f{"a": 1}', ' f[CALL_ID]123456789[ARGS] {"a": 1}'])
      expect(read(`[TOOL_CALLS]${text}`)).toEqual(only('f', '{"a": 1}'));
  });

  test('stays text', () => {
    for (const text of [
      '[TOOL_CALLS]',
      '[TOOL_CALLS] [oh',
      '[TOOL_CALLS]f\n{}',
      '[TOOL_CALLS]a b{}',
      '[TOOL_CALLS][{"x": 1}]',
    ])
      expect(read(text)).toEqual({ text, thinking: '', calls: [] });
  });
});

describe('qwen3-coder', () => {
  const read = (text: string) => part([...text], { calls: 'qwen3-coder', tools });

  test('the schema says which parameters are strings', () => {
    const answer =
      '<tool_call>\n<function=f>\n<parameter=s>\n12\n</parameter>\n<parameter=n>\n[1]\n</parameter>\n<parameter=t>\na\n\nb\n</parameter>\n</function>\n</tool_call>';
    expect(read(answer)).toEqual(only('f', '{"s": "12", "n": [1], "t": "a\\n\\nb"}'));
    expect(read('<function=f></function>')).toEqual(only('f', '{}'));
    expect(read('<tool_call>\n{}')).toEqual({ text: '<tool_call>\n{}', thinking: '', calls: [] });
  });
});

describe('thinking', () => {
  const read = (text: string, thinking: 'parted' | 'open') => part([...text], { thinking });

  test('parted, opened by the prompt, unclosed, absent', () => {
    const hm = { text: 'Yes. ', thinking: 'hm\n\nso', calls: [] };
    expect(read('\n<think>\nhm\n\nso\n</think>\n\nYes. ', 'parted')).toEqual(hm);
    expect(read('hm\n\nso\n</think>\n\nYes. ', 'open')).toEqual(hm);
    expect(read('<think>\nhm\n\nso\n</think>\n\nYes. ', 'open')).toEqual(hm);
    expect(read('<think>hm </thi', 'parted')).toEqual({ text: '', thinking: 'hm </thi', calls: [] });
    expect(read('<think>\n\n</think>\n\nYes. ', 'parted')).toEqual({ ...hm, thinking: '' });
    expect(read(' Yes <think> no', 'parted')).toEqual({ text: ' Yes <think> no', thinking: '', calls: [] });
    expect(read('<thi', 'parted').text).toBe('<thi');
    expect(read('<thi', 'open').thinking).toBe('<thi');
  });
});

describe('templates', () => {
  testWithShared('announce their family', () => {
    const source = (name: string) => sharedText(`chat-templates/${name}.jinja`);
    const qwen3 = source('Qwen-Qwen3-0.6B');
    expect(callFormatOf(qwen3)).toBe('hermes');
    expect(knowsThinking(qwen3)).toBe(true);
    expect(thinkingVariable(qwen3)).toBe('enable_thinking');
    const qwen25 = source('Qwen-Qwen2.5-7B-Instruct');
    expect(callFormatOf(qwen25)).toBe('hermes');
    expect(knowsThinking(qwen25)).toBe(false);
    expect(thinkingVariable(qwen25)).toBeUndefined();
    expect(callFormatOf(source('meta-llama-Llama-3.1-8B-Instruct'))).toBe('llama3-json');
  });

  test('by their strings; the more special family first', () => {
    expect(callFormatOf('…[TOOL_CALLS] …')).toBe('mistral');
    expect(callFormatOf('…[TOOL_CALLS] … [ARGS]')).toBe('mistral-args');
    expect(callFormatOf('<tool_call>\n<function=f>\n<parameter=a>')).toBe('qwen3-coder');
    expect(callFormatOf('<|start_header_id|>… [func_name1(params_name1=params_value1')).toBe('pythonic');
    expect(callFormatOf('{{ messages }}')).toBeUndefined();
    expect(opensThinking('<|assistant|><think>\n')).toBe(true);
    expect(opensThinking('<think>\n\n</think>\n\n')).toBe(false);
  });
});
