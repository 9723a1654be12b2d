import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { exhaustive } from '../../../../test-scope.js';
import { type GenerateOptions, type LoadOptions, loadModel, type Model } from '../../src/index.js';
import { hasCpu } from '../backends.js';
import { writeTinyAdapter } from '../tiny-adapter.js';
import { writeTinyModel } from '../tiny-model.js';

const path = await writeTinyModel();
const [one, two] = [writeTinyAdapter(), writeTinyAdapter({ rank: 2, seed: 500, modules: ['mlp.up_proj'] })];
const prompt = 'the quick brown fox jumps over a lazy dog';

const kinds: readonly GenerateOptions['adapters'][] = [
  undefined,
  'one',
  { name: 'one', scale: 0.5 },
  ['two'],
  ['one', { name: 'two', scale: -1 }],
];

const backends = hasCpu ? ['cpu', ...(exhaustive ? ['reference'] : [])] : ['reference'];

describe.each(backends)('adapters on %s', (backend) => {
  const open = (options: LoadOptions = {}): Promise<Model> =>
    loadModel(path, { backend, sequences: 8, adapters: { one, two }, ...options });

  const tokensOf = async (
    model: Model,
    adapters: GenerateOptions['adapters'],
    options: GenerateOptions = {},
  ): Promise<readonly number[]> =>
    (
      await model.generate(prompt, { temperature: 0, maxTokens: 24, ignoreEos: true, adapters, ...options })
        .result
    ).tokens;

  test.each([
    ['captured steps', {}],
    ['recorded steps', { graph: false }],
    ['blocks of 4', { blockSize: 4 }],
    ['deterministic', { deterministic: true }],
  ] satisfies [string, LoadOptions][])('%s: calls with other adapters share steps', async (_, options) => {
    using model = await open(options);
    const alone: (readonly number[])[] = [];
    for (const adapters of kinds) alone.push(await tokensOf(model, adapters));
    expect(new Set(alone.map(String)).size).toBe(kinds.length);
    const all = [...kinds, ...kinds, ...kinds];
    const together = await Promise.all(all.map((adapters) => tokensOf(model, adapters)));
    expect(together).toEqual([...alone, ...alone, ...alone]);
  });

  test('logits, speculation, drawn tokens and log-probabilities', async () => {
    using model = await open();
    const ids = model.tokenize(prompt);
    const last = async (adapters: GenerateOptions['adapters']) =>
      (await model.logits(ids, { adapters })).at(-1)!;
    const [plain, zero, adapted] = [
      await last(undefined),
      await last({ name: 'one', scale: 0 }),
      await last('one'),
    ];
    expect(Math.max(...plain.map((value, i) => Math.abs(value - zero[i]!)))).toBeLessThan(1e-4);
    expect(adapted.indexOf(Math.max(...adapted))).toBe((await tokensOf(model, 'one'))[0]);
    const speculate = { kind: 'lookup', maxDraft: 4 } as const;
    expect(await tokensOf(model, 'one', { speculate })).toEqual(await tokensOf(model, 'one'));
    const drawn = { temperature: 1, seed: 3 };
    expect(await tokensOf(model, 'one', drawn)).toEqual(await tokensOf(model, 'one', drawn));
    const noted = await model.generate(prompt, { adapters: 'one', temperature: 0, maxTokens: 3, logprobs: 2 })
      .result;
    expect(noted.logprobs).toHaveLength(3);
  });

  test('a beginning is known only under the same adapters', async () => {
    using model = await open({ blockSize: hasCpu && backend === 'cpu' ? 16 : undefined });
    const long = `${prompt} ${prompt}`;
    const cached = async (adapters: GenerateOptions['adapters']) =>
      (await model.generate(long, { temperature: 0, maxTokens: 2, adapters }).result).cachedTokens;
    expect(await cached(undefined)).toBe(0);
    expect(await cached('one')).toBe(0);
    expect(await cached({ name: 'one', scale: 0.5 })).toBe(0);
    expect(await cached('one')).toBeGreaterThan(0);
    expect(await cached(undefined)).toBeGreaterThan(0);
    await model.unloadAdapter('one');
    await model.loadAdapter('one', two);
    expect(await cached('one')).toBe(0);
  });

  test('adapters come and go while calls run', async () => {
    using model = await open({ adapters: { one } });
    const alone = await tokensOf(model, 'one', { maxTokens: 40 });
    const running = tokensOf(model, 'one', { maxTokens: 40 });
    await model.loadAdapter('two', two);
    const both = tokensOf(model, ['one', 'two']);
    expect(model.adapters).toMatchObject([
      { name: 'one', path: one, rank: 4 },
      { name: 'two', path: two, rank: 2 },
    ]);
    const generation = model.generate(prompt, {
      adapters: 'one',
      temperature: 0,
      maxTokens: 10,
      ignoreEos: true,
    });
    const reading = generation[Symbol.asyncIterator]();
    await reading.next();
    let unloaded = false;
    const unloading = model.unloadAdapter('one').then(() => {
      unloaded = true;
    });
    await expect(tokensOf(model, 'one')).rejects.toMatchObject({ code: 'ADAPTER_NOT_FOUND' });
    expect(await running).toEqual(alone);
    await both;
    expect(unloaded).toBe(false);
    while (!(await reading.next()).done);
    expect((await generation.result).tokens).toEqual(alone.slice(0, 10));
    await unloading;
    expect(model.adapters.map(({ name }) => name)).toEqual(['two']);
    const alreadyTwo = await tokensOf(model, 'two');
    await model.loadAdapter('again', one);
    expect(await tokensOf(model, 'again', { maxTokens: 40 })).toEqual(alone);
    expect(await tokensOf(model, 'two')).toEqual(alreadyTwo);
    await model.unloadAdapter('two');
    await model.unloadAdapter('again');
    expect(await tokensOf(model, undefined)).toHaveLength(24);
  });

  test('a session and a chat', async () => {
    using model = await open();
    using session = model.session();
    const told = await session.chat([{ role: 'user', content: 'the fox' }], {
      ...{ adapters: 'one', temperature: 0, maxTokens: 8 },
    }).result;
    const plain = await model.chat([{ role: 'user', content: 'the fox' }], { temperature: 0, maxTokens: 8 })
      .result;
    expect(told.tokens).not.toEqual(plain.tokens);
  });

  test('refusals', async () => {
    using model = await open();
    await expect(tokensOf(model, 'three')).rejects.toThrow(/no adapter 'three'; there are 'one', 'two'/);
    await expect(tokensOf(model, ['one', 'one'])).rejects.toThrow(/may come once/);
    await expect(tokensOf(model, { name: 'one', scale: Number.NaN })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    });
    await expect(model.loadAdapter('one', two)).rejects.toThrow(/there is an adapter 'one'/);
    await expect(model.loadAdapter('', two)).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
    await expect(model.loadAdapter('new', '/nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(model.unloadAdapter('new')).rejects.toMatchObject({ code: 'ADAPTER_NOT_FOUND' });
    const broken = writeTinyAdapter();
    rmSync(join(broken, 'adapter_model.safetensors'));
    await expect(model.loadAdapter('new', broken)).rejects.toThrow(/adapter_model.safetensors/);
    await expect(model.logits([1], { adapters: 'new' })).rejects.toMatchObject({ code: 'ADAPTER_NOT_FOUND' });
    await expect(open({ adapters: { one: '/nowhere' } })).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await tokensOf(model, 'one')).toHaveLength(24);
  });

  test('a model disposed while an adapter loads, and while a call uses one', async () => {
    const model = await open({ adapters: {} });
    const loading = model.loadAdapter('one', one);
    model.dispose();
    await expect(loading).rejects.toMatchObject({ code: 'DISPOSED' });
    const other = await open();
    const generation = other.generate(prompt, { adapters: 'one', maxTokens: 50, ignoreEos: true });
    const reading = generation[Symbol.asyncIterator]();
    await reading.next();
    other.dispose();
    const rest = async () => {
      while (!(await reading.next()).done);
    };
    await expect(rest()).rejects.toMatchObject({ code: 'DISPOSED' });
  });
});
