// Drafts under a structure and with log-probabilities: what is generated is what is generated without drafts.
import { type GenerateOptions, type GenerationResult, loadModel, type Model } from '../../src/index.js';
import { Constraint } from '../../src/structured/constraint.js';
import { Grammars } from '../../src/structured/grammars.js';
import { writeTinyModel } from '../tiny-model.js';

let target: Model;
let stranger: Model;
beforeAll(async () => {
  const load = async (options: Parameters<typeof writeTinyModel>[0]) =>
    loadModel(await writeTinyModel(options), {
      backend: 'reference',
      blockSize: 8,
      sequences: 4,
    });
  [target, stranger] = [await load({}), await load({ seed: 500 })];
});
afterAll(() => {
  target.dispose();
  stranger.dispose();
});

type Speculate = NonNullable<GenerateOptions['speculate']>;
const ways: readonly (readonly [string, () => Speculate])[] = [
  ['lookup', () => ({ kind: 'lookup', maxNgram: 1, maxDraft: 12, adaptive: false })],
  ['a draft model', () => ({ kind: 'draft', model: stranger, maxDraft: 4, adaptive: false })],
];

const prompt = 'the cat ran. the cat ran. the cat';
const pattern = '(( [a-c]{1,2})+[.] end,)+'; // with parts that are forced
const greedy: GenerateOptions = { temperature: 0, maxTokens: 50 };

/** JavaScript and the device round log-probabilities differently. */
const shown = ({ tokens, text, reason, logprobs }: GenerationResult) => ({
  tokens,
  text,
  reason,
  logprobs: logprobs?.map(({ token, logprob, top }) =>
    [{ token, logprob }, ...top].map((each) => [each.token, Math.fround(each.logprob)]),
  ),
});

describe.each(ways)('%s', (_, way) => {
  test.each<[string, GenerateOptions]>([
    ['a pattern', { regex: pattern }],
    ['a pattern, with penalties', { regex: pattern, frequencyPenalty: 0.2, presencePenalty: 0.3 }],
    ['a pattern, with log-probabilities', { regex: pattern, logprobs: 2 }],
    ['log-probabilities', { logprobs: 3, ignoreEos: true }],
    ['log-probabilities and penalties', { logprobs: 0, frequencyPenalty: 0.2, ignoreEos: true }],
    ['choices that end', { choices: ['a cab', 'a bac', 'abba abba abba abba'] }],
  ])('greedy, %s', async (_name, options) => {
    const want = await target.generate(prompt, { ...greedy, ...options }).result;
    const got = await target.generate(prompt, { ...greedy, ...options, speculate: way() }).result;
    expect(shown(got)).toEqual(shown(want));
    if (want.tokens.length === 50) expect(got.draftedTokens).toBeGreaterThan(0);
    expect(target.freeBlocks).toBe(target.stats().blocks);
  });

  test('drafts, masks and plain calls share steps; each equals its call alone', async () => {
    const calls: GenerateOptions[] = [
      { ...greedy, regex: pattern },
      { ...greedy, ignoreEos: true },
      { ...greedy, regex: '[a-z .]*', logprobs: 1 },
      { temperature: 1.5, seed: 4, maxTokens: 30, ignoreEos: true },
    ];
    const want = [];
    for (const options of calls) want.push((await target.generate(prompt, options).result).tokens);
    const got = await Promise.all(
      calls.map(
        (options, i) => target.generate(prompt, { ...options, ...(i < 3 && { speculate: way() }) }).result,
      ),
    );
    expect(got.map(({ tokens }) => tokens)).toEqual(want);
  });

  test('drawn tokens fit the pattern too', async () => {
    const fits = new RegExp(`^${pattern}`);
    for (let seed = 0; seed < 5; seed++) {
      const options = {
        temperature: 1.5,
        seed,
        maxTokens: 90,
        regex: '( [a-c]{1,2}){4}[.] end,',
        speculate: way(),
      };
      const { text, reason } = await target.generate('a', options).result;
      expect([reason, text]).toEqual(['eos', expect.stringMatching(fits)]);
    }
  });
});

test('lookup: drawn tokens under a mask are those without drafts', async () => {
  let drafted = 0;
  for (const seed of [1, 2, 3]) {
    const options = { temperature: 0.7, seed, maxTokens: 50, regex: pattern, logprobs: 1 };
    const want = await target.generate(prompt, options).result;
    const got = await target.generate(prompt, { ...options, speculate: ways[0]![1]() }).result;
    expect(shown(got)).toEqual(shown(want));
    drafted += got.draftedTokens;
  }
  expect(drafted).toBeGreaterThan(0);
});

describe('a constraint', () => {
  const words = 2; // of a mask over the tiny vocabulary
  const constraint = async (regex: string, options = {}) =>
    (await new Grammars(target.tokenizer, target.config.vocabulary).constraint({ regex, ...options }))!;
  const ids = (text: string) => Array.from(text, idOf);
  const idOf = (letter: string) => 8 + letter.charCodeAt(0) - 97;
  const allowedBy = (masks: Int32Array, at: number) =>
    Array.from({ length: 32 * words }, (_, id) => id).filter(
      (id) => (masks[at * words + (id >>> 5)]! >>> (id & 31)) & 1,
    );

  test('masks after drafts; the place stays', async () => {
    const it = await constraint('ab(c|d)+');
    expect(it).toBeInstanceOf(Constraint);
    const masks = it.masks(ids('abc'))!;
    expect(masks).toHaveLength(4 * words);
    expect([0, 1, 2].map((at) => allowedBy(masks, at))).toEqual([ids('a'), ids('b'), ids('cd')]);
    expect(allowedBy(masks, 3)).toEqual([2, ...ids('cd')]); // or the end
    expect(allowedBy(it.masks()!, 0)).toEqual(ids('a'));
  });

  test('drafts are cut where they leave the grammar', async () => {
    const it = await constraint('[ab][bc][cd]+');
    expect(await it.allowed(ids('abcda'))).toEqual({ tokens: ids('abcd') });
    expect(await it.allowed(ids('ca'))).toEqual({ tokens: [] });
    const fork = it.fork();
    fork.accept(ids('a')[0]!);
    expect(await it.allowed(ids('ab'))).toEqual({ tokens: ids('ab') });
    expect(await fork.allowed(ids('ba'))).toEqual({ tokens: ids('b') });
  });

  test('drafts are cut where a token must come next', async () => {
    const it = await constraint('[ab][ab]xyz[ab]+');
    expect(await it.allowed(ids('abxyzab'))).toEqual({ tokens: ids('ab'), forced: ids('x')[0] });
    it.accept(ids('a')[0]!);
    it.accept(ids('b')[0]!);
    expect(await it.forcedInTurns(9, undefined)).toEqual(ids('xyz'));
    expect(await it.forcedInTurns(2, undefined)).toEqual(ids('xy'));
  });

  test('with log-probabilities no token is forced', async () => {
    const it = await constraint('[ab]xyz[ab]+', { logprobs: 0 });
    expect(await it.allowed(ids('axyzab'))).toEqual({ tokens: ids('axyzab') });
    it.accept(ids('a')[0]!);
    expect(await it.forcedInTurns(9, undefined)).toEqual([]);
    expect(await it.fork().forcedInTurns(9, undefined)).toEqual([]);
  });
});
