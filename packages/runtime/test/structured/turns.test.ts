import { compileSchema, Vocabulary } from '@quern/grammar';
import { Constraint } from '../../src/structured/constraint.js';
import { LazyMatcher } from '../../src/structured/lazy-matcher.js';
import type { TokenMatcher } from '../../src/structured/token-matcher.js';

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
const long = 'a'.repeat(16);
const texts = [...range(95).map((i) => String.fromCharCode(32 + i)), long, '<x>', '"}', '"} and'];
const vocabulary = new Vocabulary(
  [...texts.map((text) => new TextEncoder().encode(text)), new Uint8Array(0)],
  {
    endOfText: [texts.length],
  },
);
const tokenOf = (text: string) => texts.indexOf(text);

/** Each byte of `s` changes a hundred patterns. */
const schema = {
  type: 'object',
  properties: {
    s: {
      type: 'string',
      maxLength: 60,
      allOf: range(100).map((i) => ({ pattern: `${String.fromCharCode(97 + (i % 26))}|b` })),
    },
  },
  required: ['s'],
  additionalProperties: false,
};

const strict = () => compileSchema(schema, { whiteSpace: 'none' }).matcher(vocabulary);
const lazy = () =>
  new LazyMatcher(
    {
      triggers: [
        {
          pattern: /<x>/g,
          behind: new Map([['', compileSchema(schema, { whiteSpace: 'none' })]]),
          next: false,
        },
      ],
      longest: 16,
      thinking: undefined,
    },
    vocabulary,
  );

const tokens = [...'{"s":"'].map(tokenOf);
const cases: [string, () => TokenMatcher, number[]][] = [
  ['a grammar', strict, tokens],
  ['a structure in a free text', lazy, [tokenOf('<x>'), ...tokens]],
];

describe.each(cases)('%s', (_, make, before) => {
  const behind = (matcher: TokenMatcher) => {
    for (const token of before) matcher.accept(token);
    return matcher;
  };
  const next = [tokenOf(long), tokenOf('b'), tokenOf(long)];

  test('a token that takes long is accepted at once, its place found in turns', async () => {
    const expected = new Constraint(behind(make()));
    const matcher = behind(make());
    const constraint = new Constraint(matcher);
    for (const token of next) {
      const masks = await constraint.masksInTurns([], undefined);
      expect(masks).toEqual(expected.masks());
      constraint.accept(token);
      expected.accept(token);
    }
    const settled = matcher.settle();
    expect(settled).toBeInstanceOf(Promise);
    await settled;
    expect(matcher.settle()).toBeUndefined();
    expect(await constraint.forcedInTurns(9, undefined)).toEqual(await expected.forcedInTurns(9, undefined));
    expect(constraint.masks()).toEqual(expected.masks());
  });

  test('drafts are checked in turns', async () => {
    const constraint = new Constraint(behind(make()));
    const drafts = [...next, tokenOf('"'), tokenOf('a')];
    expect(await constraint.allowed(drafts)).toMatchObject({ tokens: [...next, tokenOf('"')] });
    const masks = await constraint.masksInTurns(next, undefined);
    expect(masks).toEqual(new Constraint(behind(make())).masks(next));
  });
});

test('an abort ends the search for a place', async () => {
  const matcher = strict();
  for (const token of tokens) matcher.accept(token);
  matcher.mask(new Int32Array(vocabulary.words));
  matcher.accept(tokenOf(long));
  const abort = new AbortController();
  const masks = new Constraint(matcher).masksInTurns([], abort.signal);
  abort.abort(new Error('enough'));
  await expect(masks).rejects.toThrow('enough');
});
