import {
  type AnySchema,
  checkArgument,
  checkOptions,
  pickOptions,
  rules,
  type Schema,
  withDefaults,
} from '../../src/index.js';

interface Milling {
  grain: string;
  speed?: number | undefined;
  stones?: number | undefined;
  flour?: 'fine' | 'coarse' | undefined;
}

const schema = {
  grain: { ...rules.text, about: 'what is milled', required: true },
  speed: { ...rules.notNegative, about: 'turns per second', byDefault: 2 },
  stones: { ...rules.whole(1, 8), about: 'pairs of stones', byDefault: 1 },
  flour: { ...rules.oneOf(['fine', 'coarse']), about: 'how it leaves the mill', absent: 'as it falls' },
} as const satisfies Schema<Milling>;

const refuse = (message: string) => new RangeError(message);
const check = (options: unknown) => checkOptions('mill', options, schema, refuse);

test('options as the schema has them pass, and undefined counts as absent', () => {
  check({ grain: 'rye' });
  check({ grain: 'rye', speed: 0.5, stones: 8, flour: undefined });
});

test.each<[string, unknown, string]>([
  [
    'a string for a number',
    { grain: 'rye', speed: '0.5' },
    "[mill] speed is '0.5' (a string); it must be a number, finite and at least 0",
  ],
  [
    'a number out of range',
    { grain: 'rye', stones: 9 },
    '[mill] stones is 9; it must be a whole number from 1 to 8',
  ],
  [
    'NaN',
    { grain: 'rye', speed: Number.NaN },
    '[mill] speed is NaN; it must be a number, finite and at least 0',
  ],
  ['null', { grain: 'rye', speed: null }, '[mill] speed is null; it must be a number, finite and at least 0'],
  [
    'another choice',
    { grain: 'rye', flour: 'white' },
    "[mill] flour is 'white' (a string); it must be 'fine' or 'coarse'",
  ],
  ['a misspelt name', { grain: 'rye', sped: 1 }, "[mill] there is no option 'sped': did you mean 'speed'?"],
  [
    'a name in another case',
    { grain: 'rye', STONES: 1 },
    "[mill] there is no option 'STONES': did you mean 'stones'?",
  ],
  [
    'an unknown name',
    { grain: 'rye', miller: 1 },
    "[mill] there is no option 'miller': there are grain, speed, stones, flour",
  ],
  [
    'a name inherited by every object',
    { grain: 'rye', toString: 1 },
    "[mill] there is no option 'toString': there are grain, speed, stones, flour",
  ],
  ['an option that is missing', {}, '[mill] the option grain is missing; it must be a string'],
  ['null for options', null, '[mill] options is null; it must be an object'],
  ['a list for options', [1], '[mill] options is [1]; it must be an object'],
  ['a function for options', () => 1, '[mill] options is a function; it must be an object'],
])('%s is refused in one sentence', (_, options, message) => {
  expect(() => check(options)).toThrow(new RangeError(message));
});

test('inherited options are checked too', () => {
  expect(() => check(Object.create({ grain: 5 }))).toThrow(/grain is 5/);
});

test('defaults replace absent or undefined options', () => {
  expect(withDefaults<Milling, typeof schema>({ grain: 'rye', stones: undefined }, schema)).toEqual({
    grain: 'rye',
    speed: 2,
    stones: 1,
  });
  expect(withDefaults<Milling, typeof schema>({ grain: 'rye', speed: 0 }, schema).speed).toBe(0);
});

test('pickOptions takes only the named options', () => {
  expect(pickOptions({ grain: 'rye', speed: undefined, stones: 2 }, ['grain', 'speed'])).toEqual({
    grain: 'rye',
  });
});

const every: AnySchema = Object.fromEntries(
  Object.entries(rules).flatMap(([name, rule]) =>
    typeof rule === 'object' ? [[name, { ...rule, about: name }]] : [],
  ),
);
const values: Readonly<Record<string, readonly [right: readonly unknown[], wrong: readonly unknown[]]>> = {
  finite: [
    [-1, 0.5],
    ['1', Number.POSITIVE_INFINITY, 1n, null],
  ],
  notNegative: [
    [0, 7],
    [-1e-9, Number.NaN],
  ],
  aboveZero: [[1e-9], [0, -1]],
  share: [
    [0, 1],
    [1.1, -0.1, Number.NaN],
  ],
  shareAboveZero: [[1], [0]],
  float32: [[0, 3e38], [3.5e38]],
  seed: [
    [0, 1n, 2n ** 64n - 1n],
    [-1, -1n, 2 ** 53, 2n ** 64n, 0.5, '1', true],
  ],
  flag: [
    [true, false],
    [0, 'true', null],
  ],
  text: [
    ['', 'a'],
    [5, null],
  ],
  path: [['a.gguf'], ['', 'a\0b', 5]],
  texts: [
    [[], ['a']],
    ['a', [5], null],
  ],
  callback: [[() => 1], [{}, null]],
  signal: [
    [new AbortController().signal, AbortSignal.timeout(1e6)],
    [{}, { aborted: false }, null],
  ],
  object: [
    [{}, new Map()],
    [[], null, 5],
  ],
};

test.each(Object.keys(values))('the rule %s', (name) => {
  const [right, wrong] = values[name]!;
  for (const value of right) checkArgument('test', name, value, every[name]!, refuse);
  for (const value of wrong)
    expect(() => checkArgument('test', name, value, every[name]!, refuse)).toThrow(RangeError);
});

test('every rule is tested above', () => {
  expect(Object.keys(values).sort()).toEqual(Object.keys(every).sort());
});
