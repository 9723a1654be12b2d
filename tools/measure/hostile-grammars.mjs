// Random hostile schemas, patterns and GBNF grammars: how long the event loop's thread runs at once while they are compiled, and while
// masks, forced and accepted tokens are found. Prints those above the limit. Needs a build of packages/grammar.
//   node tools/measure/hostile-grammars.mjs [SEED] [COUNT] [LIMIT_MS]
import { compileInTurns, Vocabulary } from '../../packages/grammar/dist/index.js';
import { longestHold } from './hold.mjs';

const [seed = 1, count = 50, limit = 20] = process.argv.slice(2).map(Number);
const MOST_TOKENS = 6;
const MOST_MS = 3000; // of one source

const range = (length) => Array.from({ length }, (_, i) => i);

/** Numbers from 0 to 1, the same in every run: mulberry32. */
function randomOf(start) {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Sources of one seed. */
class Hostile {
  constructor(start) {
    this.random = randomOf(start);
  }

  int(least, most) {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  pick(values) {
    return values[this.int(0, values.length - 1)];
  }

  source() {
    return this.pick([
      () => ({ regex: this.pattern(4) }),
      () => ({ gbnf: this.gbnf() }),
      () => ({ schema: this.schema(3) }),
      () => ({ schema: this.schema(2) }),
    ])();
  }

  atom() {
    return this.pick(['a', 'b', '[a-f]', '.', '\\d', '[^a]', '\\s', 'é', '\\p{L}', '(?:ab?)']);
  }

  count() {
    return this.pick(['', '', '*', '+', '?', '{0,40}', '{3,}', '{1,900}', '{0,2000}']);
  }

  pattern(depth) {
    if (depth <= 0) return this.atom() + this.count();
    return this.pick([
      () => `(${this.pattern(depth - 1)})${this.count()}`,
      () => `(${this.pattern(depth - 1)}|${this.pattern(depth - 2)})${this.count()}`,
      () => this.pattern(0).repeat(this.int(2, 400)),
      () =>
        `(${range(this.int(2, 800))
          .map((i) => `${this.pattern(0)}${i}`)
          .join('|')})`,
      () => this.nested(this.count()),
    ])();
  }

  nested(count) {
    const [inner, behind] = [this.atom(), `${this.atom()}?`];
    return range(this.int(5, 85)).reduce((within) => `(${within}${inner})${count}${behind}`, 'a?');
  }

  string() {
    return {
      type: 'string',
      ...(this.random() < 0.6 && { pattern: this.pattern(2) }),
      ...(this.random() < 0.4 && { maxLength: this.int(300, 9000) }),
      ...(this.random() < 0.3 && { format: this.pick(['iri', 'idn-email', 'regex', 'ipv6', 'duration']) }),
      ...(this.random() < 0.3 && { not: { enum: range(this.int(1, 1900)).map((i) => `v${i}`) } }),
      ...(this.random() < 0.3 && { allOf: range(this.int(2, 300)).map((i) => ({ pattern: `a.{0,${i}}b` })) }),
    };
  }

  number() {
    const one = (i) => this.pick([{ multipleOf: i + 2 }, { minimum: -i }, { not: { const: i } }]);
    return { type: 'number', maximum: 1e300, allOf: range(this.int(1, 90)).map(one) };
  }

  object(depth) {
    const names = range(this.pick([1, 5, 30, 900])).map((i) => `k${i}`);
    const value = (i) => (names.length > 30 ? { const: i } : this.schema(depth - 1));
    const some = () => names.slice(0, this.int(1, 20));
    return {
      type: 'object',
      properties: Object.fromEntries(names.map((name, i) => [name, value(i)])),
      ...(this.random() < 0.5 && { required: some() }),
      ...(this.random() < 0.3 && {
        patternProperties: Object.fromEntries(
          range(this.int(1, 8)).map((i) => [`k.*${i}`, { minLength: i }]),
        ),
      }),
      ...(this.random() < 0.3 && {
        dependentRequired: Object.fromEntries(names.map((name) => [name, some()])),
      }),
      ...(this.random() < 0.3 && { propertyNames: { pattern: '(a|k)*k(0|1|2){1,9}' } }),
    };
  }

  schema(depth) {
    if (depth <= 0) return this.pick([() => this.string(), () => this.number()])();
    return this.pick([
      () => this.object(depth),
      () => ({ anyOf: range(this.int(2, 8)).map(() => this.schema(depth - 1)) }),
      () => ({ anyOf: range(this.int(9, 900)).map((i) => ({ type: 'string', pattern: `a*b${i}` })) }),
      () => ({
        oneOf: range(this.int(2, 180)).map((i) => ({ properties: { t: { const: i } }, required: ['t'] })),
      }),
      () => ({ allOf: [this.schema(depth - 1), this.schema(depth - 1)] }),
      () => ({ type: 'array', prefixItems: range(this.int(1, 3000)).map((i) => ({ const: i })) }),
    ])();
  }

  gbnf() {
    const rules = this.pick([3, 10, 60]);
    const one = () =>
      this.pick(['"a"', '"ab"', '[a-c]', '[^x]', '"c"?', '("a" | "b")*', '(("a" | "b")? "c"?){0,900}']);
    const rule = () =>
      `${this.pick(['"a"', '[b-d]'])} ${one()} r${this.int(0, rules - 1)}${this.pick(['', '?', '*'])} ${one()}`;
    const lines = range(rules).map((i) => `r${i} ::= ${range(this.int(1, 6)).map(rule).join(' | ')} | "z"`);
    return `root ::= r0 | r1\n${lines.join('\n')}`;
  }
}

const letters = [...'abcdefghijk0123456789 "{}[]:,.-_'];
const pairs = letters.flatMap((a) => letters.map((b) => a + b));
const words = range(20_000).map((i) =>
  letters
    .map((_, k) => letters[(i * (k + 3)) % 21])
    .join('')
    .slice(0, 3 + (i % 12)),
);
const texts = [...new Set([...letters, ...pairs, ...words])];
const vocabulary = new Vocabulary(
  [...texts.map((text) => new TextEncoder().encode(text)), new Uint8Array(0)],
  {
    endOfText: [texts.length],
  },
);
const mask = new Int32Array(vocabulary.words);
const isAllowed = (token) => ((mask[token >>> 5] >>> (token & 31)) & 1) === 1;

/** A few tokens of a grammar, as a generation takes them. */
async function walk(source, signal) {
  const matcher = (await compileInTurns(source, { signal })).matcher(vocabulary);
  for (let i = 0; i < MOST_TOKENS; i++) {
    await matcher.settle(signal);
    await matcher.forcedInTurns(signal);
    await matcher.maskInTurns(mask, signal);
    const allowed = texts.flatMap((_, token) => (isAllowed(token) ? [token] : []));
    if (allowed.length === 0) return;
    matcher.accept(allowed[(i * 7919) % allowed.length]);
  }
}

for (let i = 0; i < count; i++) {
  const source = new Hostile(seed * 1000 + i).source();
  const work = () => walk(source, AbortSignal.timeout(MOST_MS)).catch((error) => error.message);
  const { ran, result } = await longestHold(work);
  if (ran > limit)
    console.log(`${i}: ${ran.toFixed(1)} ms · ${result ?? 'done'} · ${JSON.stringify(source).slice(0, 200)}`);
}
console.log(`${count} sources of seed ${seed}; limit ${limit} ms`);
