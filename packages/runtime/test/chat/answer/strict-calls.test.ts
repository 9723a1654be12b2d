import { compileStructure, Vocabulary } from '@quern/grammar';
import { type CallFormat, callFormats } from '../../../src/chat/answer/index.js';
import { longestHead, strictCalls } from '../../../src/chat/answer/strict-calls.js';
import { LazyMatcher } from '../../../src/structured/lazy-matcher.js';
import { part } from './read.js';

const city = { type: 'string', enum: ['Rome', 'Oslo'] };
const weather = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city, days: { type: 'integer', minimum: 1, maximum: 9 } },
    required: ['city'],
    additionalProperties: false,
  },
};
/** Its name begins as the other's; it is not strict. */
const get = { name: 'get', parameters: { type: 'object' } };
const tools = [weather, get];

const end = 128;
const ascii = Array.from({ length: end }, (_, code) => String.fromCharCode(code));
/** Tokens that hold the end of one part and the begin of the next. */
const longer = [
  '<tool_call>',
  '{}',
  '{}}',
  '":{}',
  '()',
  '()]',
  '}}',
  '"}}\n',
  ')]',
  '>\n',
  '{"',
  'get(',
  ', ',
];
const texts = [...ascii, '', ...longer];
const vocabulary = new Vocabulary(
  texts.map((text) => new TextEncoder().encode(text)),
  { endOfText: [end] },
);

const matcherOf = (format: CallFormat, thinking?: 'parted' | 'open', of = [weather], over = vocabulary) =>
  new LazyMatcher(
    {
      triggers: strictCalls(format, of).map(({ behind, ...trigger }) => ({
        ...trigger,
        behind: new Map([...behind].map(([key, structure]) => [key, compileStructure(structure)])),
      })),
      longest: longestHead(of),
      thinking,
    },
    over,
  );

const write = (matcher: LazyMatcher, text: string) => {
  for (const c of text) matcher.accept(c.charCodeAt(0));
};

const heads: Record<CallFormat, readonly string[]> = {
  hermes: ['<tool_call>\n{"name": "get_weather"', 'Well. <tool_call>{ "name":"get_weather"'],
  'qwen3-coder': ['<tool_call>\n<function=get_weather>', '<function=get_weather>'],
  'llama3-json': ['{"name": "get_weather"', '<|python_tag|>{"type": "function", "name": "get_weather"'],
  pythonic: ['[get_weather(', '[get(a=1), get_weather('],
  mistral: [
    '[TOOL_CALLS] [{"name": "get_weather"',
    '[TOOL_CALLS]get_weather{',
    '[TOOL_CALLS] get_weather[ARGS]',
  ],
  'mistral-args': ['[TOOL_CALLS]get_weather[ARGS]', '[TOOL_CALLS]get_weather[CALL_ID]a1[ARGS]'],
};

/** Numbers from 0 to 1, the same in every run: mulberry32. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), 61 | bits);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A random text behind `head`, as far as the structure goes. */
function walk(matcher: LazyMatcher, head: string, next: () => number): string | undefined {
  write(matcher, head);
  let text = head;
  for (let step = 0; step < 400; step++) {
    if (matcher.isFree) return text;
    const allowed = texts.flatMap((piece, id) => (piece !== '' && matcher.allows(id) ? [id] : []));
    const token = allowed[Math.floor(next() * allowed.length)]!;
    matcher.accept(token);
    text += texts[token];
  }
  return undefined;
}

const cases = callFormats.flatMap((format) => heads[format].map((head) => [format, head] as const));

test.each(cases)('%s, %j: arguments fit, whatever is chosen', (format, head) => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    const text = walk(matcherOf(format), head, random(seed));
    if (text === undefined) continue; // white space without end
    const { calls } = part([text], { calls: format, tools });
    const { city, days = 1, ...others } = JSON.parse(calls.at(-1)!.arguments);
    expect(['Rome', 'Oslo']).toContain(city);
    expect(days >= 1 && days <= 9 && Number.isInteger(days)).toBe(true);
    expect(others).toEqual({});
    seen.add(city);
  }
  expect([...seen].sort()).toEqual(['Oslo', 'Rome']);
});

test.each(callFormats)('%s: text without calls is free', async (format) => {
  const matcher = matcherOf(format, 'parted');
  write(matcher, '{"name": "other", "get_weather": [1, 2]} <tool> get_weather() [a](b) <function=x> ');
  expect(matcher.isFree).toBe(true);
  const mask = new Int32Array(vocabulary.words);
  matcher.mask(mask);
  expect([...mask].every((word) => word === -1)).toBe(true);
  expect([matcher.allows(end), matcher.allows(0), await matcher.forcedInTurns()]).toEqual([true, true, []]);
});

test('thoughts are free, also of marks', () => {
  const head = heads.hermes[0]!;
  for (const [thinking, begin, free] of [
    ['parted', '\n<think>\nI could write ', true],
    ['open', 'I could write ', true],
    ['open', '<think> I could write ', true],
    ['parted', 'I could write ', false],
    ['parted', '<think>no</think>', false],
    ['open', 'no</think> ', false],
    [undefined, '<think>', false],
  ] as const) {
    const matcher = matcherOf('hermes', thinking);
    write(matcher, begin + head);
    expect([thinking, begin, matcher.isFree]).toEqual([thinking, begin, free]);
  }
  const crossing = matcherOf('hermes', 'open');
  write(crossing, 'so <tool_call>{"name": "get_weather"</think>');
  expect(crossing.isFree).toBe(true);
});

test('other names are free, also where they begin alike', () => {
  for (const [format, text] of [
    ['hermes', '<tool_call>\n{"name": "get"'],
    ['hermes', '<tool_call>\n{"name": "get_weathers", "x'],
    ['hermes', '<tool_call>{"name": "\n'],
    ['llama3-json', '{"id": 5, "name": "get"'],
    ['qwen3-coder', '<tool_call>\n<function=get>'],
    ['pythonic', '[get('],
    ['pythonic', '[get_weathers('],
    ['mistral', '[TOOL_CALLS]get{'],
    ['mistral-args', '[TOOL_CALLS]get_weather_now['],
  ] as const) {
    const matcher = matcherOf(format);
    write(matcher, text);
    expect([format, text, matcher.isFree]).toEqual([format, text, true]);
  }
});

test.each([
  [
    'hermes',
    '<tool_call>{"name": "get_weather',
    ['"}', '"\n}', '"}</', '", "arguments": {}}', '", "arguments": {"x'],
    ['"', '",', '", "'],
  ],
  ['hermes', '<tool_call>{"name": "', ['get_weather"}'], ['get_weather"', 'get"}', 'get_weathers"}']],
  ['llama3-json', '{"name": "get_weather', ['"}', '", "parameters": {}}'], ['",', '", "parameters": {"']],
  ['mistral', '[TOOL_CALLS][{"name": "get_weather', ['"}]', '"}'], ['", ']],
  ['qwen3-coder', '<function=get_weather', ['></', '>\n</'], ['>', '>\n', '>\n<parameter=city>', 's></']],
  ['pythonic', '[get_weather', ['()', '()]', '(days=1)'], ['(', '(city="', 's()']],
  ['mistral-args', '[TOOL_CALLS]get_weather', ['[ARGS]{}', '{}', ' {}'], ['[ARGS]{"', '{', ' {"city']],
] as const)('%s, %j: tokens over the end of the name', (format, text, wrong, right) => {
  const over = [...wrong, ...right];
  const longer = [...texts, ...over];
  const own = new Vocabulary(
    longer.map((each) => new TextEncoder().encode(each)),
    { endOfText: [end] },
  );
  const matcher = matcherOf(format, undefined, [weather], own);
  write(matcher, text);
  const allowed = over.filter((each) => matcher.allows(longer.lastIndexOf(each)));
  expect(allowed).toEqual(right);
});

test.each([
  ['hermes', '<tool_call>{"id": "7", "index": 3, "name": "get_weather", "arguments": {"'],
  ['mistral', '[TOOL_CALLS][{"id": "abc", "name": "get_weather", "arguments": {"'],
  ['llama3-json', '<|python_tag|>{"type": "function", "name": "get_weather", "parameters": {"'],
  ['llama3-json', '<|python_tag|>get_weather.call('],
  ['mistral-args', '[TOOL_CALLS]get_weather {"'],
] as const)('%s, %j: other spellings of a call', (format, text) => {
  const matcher = matcherOf(format);
  write(matcher, text);
  const next = [...'dcx'].filter((c) => matcher.allows(c.charCodeAt(0)));
  expect([matcher.isFree, next.includes('x'), next.includes('c')]).toEqual([false, false, true]);
});

test('members behind the arguments', () => {
  for (const format of ['hermes', 'mistral'] as const) {
    const matcher = matcherOf(format);
    const head = format === 'hermes' ? '<tool_call>' : '[TOOL_CALLS][';
    write(matcher, `${head}{"name": "get_weather", "arguments": {"city": "Rome"}, "id": "abcdefghi"}`);
    if (format === 'hermes') write(matcher, '</tool_call>');
    expect(matcher.isFree).toBe(true);
  }
});

test('a list of calls: the second is enforced too', () => {
  const matcher = matcherOf('mistral');
  write(matcher, '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Rome"}}');
  expect(matcher.isFree).toBe(true);
  write(matcher, ', {"name": "get_weather"');
  expect(matcher.isFree).toBe(false);
  const text = matcherOf('mistral');
  write(text, '[{"a": 1}, {"name": "get_weather"');
  expect(text.isFree).toBe(true);
});

test('a token over the end of a head: allowed as far as it fits', () => {
  const matcher = matcherOf('pythonic', undefined, [{ ...weather, name: 'get' }]);
  write(matcher, '[');
  matcher.accept(texts.indexOf('get('));
  expect(matcher.isFree).toBe(false);
  expect(matcher.allows(')'.charCodeAt(0))).toBe(false);
  write(matcher, 'city="Oslo"');
  matcher.accept(texts.indexOf(')]')); // over the end of the structure
  expect(matcher.isFree).toBe(true);
});

test('taking back, copies: as if only what is left had been written', () => {
  const next = random(7);
  const places = [matcherOf('hermes', 'parted')];
  const mask = (matcher: LazyMatcher) => {
    const bits = new Int32Array(vocabulary.words);
    matcher.mask(bits);
    return [...bits];
  };
  for (let round = 0; round < 60; round++) {
    const matcher = places[Math.floor(next() * places.length)]!;
    const before = [mask(matcher), matcher.length] as const;
    const script = [
      ...'<think>a</think>',
      ...heads.hermes[0]!,
      ...', "arguments": {"city": "Rome"}}\n</tool_call>',
    ];
    const from = matcher.length;
    for (const c of script.slice(from, from + Math.floor(next() * 60))) matcher.accept(c.charCodeAt(0));
    if (places.length < 5) places.push(matcher.clone());
    const after = matcherOf('hermes', 'parted');
    write(after, script.slice(0, matcher.length).join(''));
    expect([mask(matcher), matcher.isFree]).toEqual([mask(after), after.isFree]);
    if (next() < 0.7) {
      matcher.rollback(matcher.length - from);
      expect([mask(matcher), matcher.length]).toEqual(before);
    }
  }
  expect(places.some(({ length }) => length > 40)).toBe(true);
});

test('names of any characters', () => {
  const odd = { ...weather, name: 'a+b "ü"' };
  const bytes = new Vocabulary(
    Array.from({ length: 257 }, (_, byte) => (byte < 256 ? Uint8Array.of(byte) : new Uint8Array(0))),
    { endOfText: [256] },
  );
  const matcher = matcherOf('hermes', undefined, [odd], bytes);
  const head = new TextEncoder().encode(`<tool_call>{"name": ${JSON.stringify(odd.name)}`);
  for (const byte of head) matcher.accept(byte);
  expect(['}', ','].map((c) => matcher.allows(c.charCodeAt(0)))).toEqual([false, true]);
});

test('llama3-json: a tool that only JSON can write is not called in the other way', () => {
  const whole = { ...weather, parameters: { ...weather.parameters, anyOf: [{ required: ['days'] }] } };
  const matcher = matcherOf('llama3-json', undefined, [whole]);
  write(matcher, '<|python_tag|>get_weather');
  expect(['.', 's'].map((c) => matcher.allows(c.charCodeAt(0)))).toEqual([false, true]);
  const json = matcherOf('llama3-json', undefined, [whole]);
  write(json, '{"name": "get_weather", "parameters": {"');
  expect(json.isFree).toBe(false);
});
