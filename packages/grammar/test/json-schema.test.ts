import { readdirSync } from 'node:fs';
import { cases as inScope } from '../../../test-scope.js';
import { compileSchema, type Grammar, GrammarError, Vocabulary } from '../src/index.js';
import { describeShared, readShared, shared } from './shared-data.js';

interface Case {
  readonly name: string;
  readonly schema: unknown;
  readonly tests: readonly { readonly valid: boolean; readonly data: unknown }[];
}

/** undefined: refused. */
function compiled(schema: unknown, keyOrder: 'schema' | 'any'): Grammar | undefined {
  try {
    return compileSchema(schema, { keyOrder });
  } catch (error) {
    if (error instanceof GrammarError) return undefined;
    throw error;
  }
}

/** mulberry32 by Tommy Ettinger, public domain. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describeShared('json-schema', () => {
  const lines = readShared('json-schema', 'maskbench.jsonl').trim().split('\n');
  const everySixth = lines.filter((_, i) => i % 6 === 0);
  const cases: Case[] = inScope(lines, everySixth).map((line) => JSON.parse(line));

  test('MaskBench: 90 % of schemas; no wrong answer with keys in any order, nothing invalid in that of the schema', () => {
    let supported = 0;
    const wrong: string[] = [];
    for (const { name, schema, tests } of cases) {
      const [free, ordered] = [compiled(schema, 'any'), compiled(schema, 'schema')];
      if (!free || !ordered) continue;
      supported++;
      for (const { valid, data } of tests) {
        const text = JSON.stringify(data);
        if (free.test(text) !== valid || (!valid && ordered.test(text))) wrong.push(name);
      }
    }
    expect(wrong).toEqual([]);
    expect(supported / cases.length).toBeGreaterThan(0.9);
  });

  test('the official suite: nothing invalid is accepted', () => {
    const wrong: string[] = [];
    let answered = 0;
    for (const file of readdirSync(shared('json-schema', 'suite')))
      for (const { description, schema, tests } of JSON.parse(readShared('json-schema', 'suite', file))) {
        const grammars = [compiled(schema, 'any'), compiled(schema, 'schema')];
        for (const { valid, data } of tests)
          for (const grammar of grammars.filter((each) => each !== undefined)) {
            answered++;
            if (!valid && grammar.test(JSON.stringify(data))) wrong.push(`${file}: ${description}`);
          }
      }
    expect(wrong).toEqual([]);
    expect(answered).toBeGreaterThan(1600);
  });

  test('valid instances in random tokens', () => {
    const next = random(17);
    const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
    for (const { name, schema, tests } of cases.slice(0, 40)) {
      const data = tests.find((item) => item.valid)?.data;
      const grammar = data === undefined ? undefined : compiled(schema, 'any');
      if (!grammar) continue;
      const text = new TextEncoder().encode(JSON.stringify(data)).subarray(0, 3000);
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < text.length; ) {
        const length = 1 + Math.floor(next() * 6);
        pieces.push(text.subarray(at, at + length));
        at += length;
      }
      const vocabulary = new Vocabulary([...bytes, ...pieces, new Uint8Array(0)], {
        endOfText: [256 + pieces.length],
      });
      const matcher = grammar.matcher(vocabulary);
      const mask = new Uint32Array(vocabulary.words);
      pieces.forEach((_, i) => {
        const token = 256 + i;
        matcher.mask(mask);
        expect([name, i, ((mask[token >>> 5] as number) >>> (token & 31)) & 1]).toEqual([name, i, 1]);
        matcher.accept(token);
      });
    }
  });
});

describe('multiples between bounds', () => {
  const texts = Array.from({ length: 129 }, (_, i) => (i < 128 ? Uint8Array.of(i) : new Uint8Array(0)));
  const vocabulary = new Vocabulary(texts, { endOfText: [128] });

  /** A random text that ends as soon as it may; undefined where it does not. */
  function walk(schema: object, seed: number): string | undefined {
    const matcher = compileSchema(schema).matcher(vocabulary);
    let state = seed * 7919;
    let text = '';
    while (!matcher.isAccepting) {
      const allowed = Array.from({ length: 128 }, (_, code) => code).filter((code) => matcher.allows(code));
      if (allowed.length === 0 || text.length > 20) return undefined;
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const code = allowed[(state >>> 8) % allowed.length]!;
      matcher.accept(code);
      text += String.fromCharCode(code);
    }
    return text;
  }

  test.each([
    { multipleOf: 97, minimum: 1, maximum: 1e6 },
    { multipleOf: 331, minimum: 1, maximum: 1e6 },
    { multipleOf: 1000, minimum: -5000, maximum: 5000 },
  ])('%j: texts end, and fit', (limits) => {
    for (let seed = 1; seed <= 8; seed++) {
      const value = JSON.parse(walk({ type: 'integer', ...limits }, seed) ?? 'null');
      expect(value % limits.multipleOf).toBeCloseTo(0);
      expect(value >= limits.minimum && value <= limits.maximum).toBe(true);
    }
  });

  test('too large ones are refused by name; without bounds they are not', () => {
    const limits = { type: 'integer', multipleOf: 9973 };
    expect(() => compileSchema({ ...limits, minimum: 1 })).toThrow('multipleOf 9973 together with bounds');
    expect(compileSchema(limits).test('19946')).toBe(true);
  });
});
