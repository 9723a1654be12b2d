import { fileURLToPath } from 'node:url';
import { compileChoices } from '@quern/grammar';
import { type GenerateOptions, loadModel, type Model, type StandardSchema } from '../../src/index.js';
import { hasCpu } from '../backends.js';
import { writeTinyModel } from '../tiny-model.js';

const demo = fileURLToPath(new URL('../../../demo-model/model/quern-demo.gguf', import.meta.url));

const person = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 12 }, age: { type: 'integer', minimum: 0, maximum: 120 } },
  required: ['name', 'age'],
  additionalProperties: false,
} as const;

describe.each(hasCpu ? ['cpu'] : ['reference'])('on backend %s', (backend) => {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(demo, { backend, context: 256, sequences: 4 });
  });
  afterAll(() => model.dispose());

  const kinds: readonly (readonly [string, GenerateOptions])[] = [
    ['greedy', { temperature: 0 }],
    ['drawn by the device', { temperature: 1.5, seed: 7 }],
    ['drawn in JavaScript', { temperature: 1.5, seed: 7, presencePenalty: 0.5 }],
  ];

  test.each(kinds)('a schema, %s: the text is JSON that fits', async (_, options) => {
    const { text, value, reason } = await model.generate('Once', {
      ...options,
      maxTokens: 90,
      schema: person,
    }).result;
    expect(reason).toBe('eos');
    expect(JSON.parse(text)).toEqual(value);
    const { name, age } = value!; // typed
    expect(name.length).toBeLessThanOrEqual(12);
    expect(Number.isInteger(age) && age >= 0 && age <= 120).toBe(true);
  });

  test("keys come in the schema's order, or in any", async () => {
    const schema = {
      type: 'object',
      properties: { z: { const: 1 }, a: { const: 2 } },
      required: ['z', 'a'],
      additionalProperties: false,
    };
    const options = { schema, temperature: 0, maxTokens: 30 };
    expect((await model.generate('Once', options).result).text.replace(/\s/g, '')).toBe('{"z":1,"a":2}');
    const logitBias = Object.fromEntries([...'z'].flatMap((letter) => [[model.tokenize(letter)[0]!, -50]]));
    const free = await model.generate('Once', { ...options, keyOrder: 'any', logitBias }).result;
    expect(Object.keys(free.value as object).sort()).toEqual(['a', 'z']);
    const wrong = { ...options, keyOrder: 'none' as 'any' };
    expect(() => model.generate('Once', wrong)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });

  test.each(kinds)('logitBias against all that a schema allows is named, %s', async (_, options) => {
    const start = model.tokenize('7', { addBos: false });
    const logitBias = Object.fromEntries(Array.from({ length: model.config.vocabulary }, (_, id) => [id, 0]));
    for (let id = 0; id < model.tokenizer!.vocabSize; id++)
      if (/^[\d\s]*\d/.test(model.detokenize([id]))) logitBias[id] = Number.NEGATIVE_INFINITY;
    expect(logitBias[start.at(-1)!]).toBe(Number.NEGATIVE_INFINITY);
    const made = model.generate('Once', { ...options, maxTokens: 4, choices: ['7', '8'], logitBias }).result;
    await expect(made).rejects.toMatchObject({ code: 'BAD_OPTION' });
    await expect(made).rejects.toThrow(
      'logitBias forbids every token that the schema, grammar or tools allow',
    );
  });

  test('a format that is no language: a notice, or a refusal', async () => {
    const notices: string[] = [];
    const schema = { type: 'string', format: 'json-string', maxLength: 3 };
    const options = { schema, temperature: 0, maxTokens: 8 };
    await model.generate('Once', { ...options, onNotice: (text) => notices.push(text) }).result;
    expect(notices).toEqual([expect.stringContaining('schema: /format: the format "json-string"')]);
    const strict = model.generate('Once', { ...options, unknownFormats: 'refuse' }).result;
    await expect(strict).rejects.toMatchObject({ code: 'BAD_GRAMMAR' });
  });

  test('an abort while the vocabulary is prepared ends that call alone; disposing, all', async () => {
    const own = await loadModel(demo, { backend, context: 64, sequences: 2 });
    const leaves = new AbortController();
    const options = { maxTokens: 30, temperature: 0, choices: ['red', 'green'] };
    const left = own.generate('The', { ...options, signal: leaves.signal }).result;
    const stays = own.generate('The', options).result;
    const refused = own.generate('The', { ...options, choices: [], signal: leaves.signal }).result;
    await expect(refused).rejects.toMatchObject({ code: 'BAD_GRAMMAR' });
    leaves.abort();
    expect(await left).toMatchObject({ reason: 'abort', tokens: [] });
    expect(['red', 'green']).toContain((await stays).text);
    own.dispose();

    const gone = await loadModel(demo, { backend, context: 64 });
    const waiting = gone.generate('The', options).result;
    const over = expect(waiting).rejects.toMatchObject({ code: 'DISPOSED' });
    gone.dispose();
    gone.dispose();
    await over;
  });

  test('a pattern, choices, a grammar', async () => {
    const text = async (options: GenerateOptions) =>
      (await model.generate('The', { temperature: 1, seed: 3, maxTokens: 60, ...options }).result).text;
    expect(await text({ regex: '[a-f]{3}-\\d{4}' })).toMatch(/^[a-f]{3}-\d{4}$/);
    expect(['red', 'green', 'blue']).toContain(await text({ choices: ['red', 'green', 'blue'] }));
    expect(await text({ grammar: 'root ::= "<" [a-z]+ ">" | "no"' })).toMatch(/^(<[a-z]+>|no)$/);
    expect(await text({ grammar: compileChoices(['only this']) })).toBe('only this');
  });

  test('rows with and without a mask share steps; each equals its call alone', async () => {
    const calls: readonly (readonly [string, GenerateOptions])[] = [
      ['Once upon', { temperature: 0, maxTokens: 12 }],
      [
        'The cat',
        { temperature: 0, maxTokens: 40, schema: { type: 'array', items: { enum: [1, 'a'] }, maxItems: 4 } },
      ],
      ['One day', { temperature: 1.2, seed: 5, maxTokens: 20 }],
      ['A dog', { temperature: 1.2, seed: 6, maxTokens: 20, regex: '[a-z ]{5,30}' }],
    ];
    const alone = [];
    for (const [prompt, options] of calls) alone.push((await model.generate(prompt, options).result).text);
    const together = await Promise.all(
      calls.map(([prompt, options]) => model.generate(prompt, options).result),
    );
    expect(together.map(({ text }) => text)).toEqual(alone);
  });

  test('tokens that must come next are not chosen', async () => {
    const options = { temperature: 0, maxTokens: 60, choices: ['a rather long text without any choice'] };
    const before = model.stats().generatedTokens;
    const { text, tokens } = await model.generate('x', options).result;
    expect(text).toBe(options.choices[0]);
    expect(model.stats().generatedTokens - before).toBeLessThan(tokens.length / 2);
  });

  test('a text cut by maxTokens has no value', async () => {
    const { value, reason } = await model.generate('x', { maxTokens: 3, schema: person }).result;
    expect([value, reason]).toEqual([undefined, 'length']);
  });
});

describe('options', () => {
  let model: Model;
  beforeAll(async () => {
    model = await loadModel(demo, { backend: 'reference', context: 64 });
  });
  afterAll(() => model.dispose());

  const error = (options: GenerateOptions) =>
    (async () => model.generate('x', options).result)().then(
      () => undefined,
      ({ code, message }) => `${code}: ${message}`,
    );

  test('what cannot be enforced is refused by name', async () => {
    expect(await error({ schema: { type: 'array', uniqueItems: true } })).toMatch(
      /^BAD_GRAMMAR: schema: .*uniqueItems/,
    );
    expect(await error({ regex: '(' })).toMatch(/^BAD_GRAMMAR: regex: /);
    expect(await error({ grammar: 'root ::= other' })).toMatch(/^BAD_GRAMMAR: grammar: /);
    expect(await error({ regex: 'a++' })).toMatch(/^BAD_GRAMMAR: regex: .*repetition of a repetition/);
    expect(await error({ choices: ['a', 'x\ud800'] })).toMatch(/^BAD_GRAMMAR: choices: .*half a character/);
    const circular: Record<string, unknown> = { type: 'array' };
    circular.items = circular;
    expect(await error({ schema: circular })).toMatch(
      /^BAD_GRAMMAR: schema: it is no JSON: .*contains itself/,
    );
    expect(await error({ schema: 3 as never })).toMatch(/^BAD_OPTION: .*schema/);
    expect(await error({ choices: 'a' as never })).toMatch(/^BAD_OPTION: .*choices/);
  });

  test('options that exclude each other', async () => {
    expect(await error({ schema: true, regex: 'a' })).toMatch(
      /^BAD_OPTION: options schema and regex exclude/,
    );
    expect(await error({ schema: true, ignoreEos: true })).toMatch(
      /^BAD_OPTION: options schema and ignoreEos/,
    );
  });

  test('a standard schema: its JSON schema is enforced, its validate gives the value', async () => {
    const schema: StandardSchema<Date> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => ({ value: new Date(value as string) }),
        jsonSchema: { output: () => ({ $schema: 'x', const: '2020-01-02' }) },
      },
    };
    const { value } = await model.generate('x', { schema, maxTokens: 30 }).result;
    expect(value!.getUTCFullYear()).toBe(2020);
    const output = () => {
      throw new Error('Date cannot be represented in JSON Schema');
    };
    const broken = { '~standard': { ...schema['~standard'], jsonSchema: { output } } };
    expect(await error({ schema: broken })).toBe(
      'BAD_GRAMMAR: schema: Date cannot be represented in JSON Schema',
    );
    const { jsonSchema: _, ...none } = schema['~standard'];
    expect(await error({ schema: { '~standard': none } as never })).toMatch(
      /^BAD_OPTION: .*of test without a JSON schema/,
    );
  });

  test('a vocabulary without end tokens is refused', async () => {
    using tiny = await loadModel(await writeTinyModel(), { backend: 'reference' });
    const generate = tiny.generate('the', { regex: 'a+', maxTokens: 4 }).result;
    if (tiny.tokenizer!.eog.size === 0) await expect(generate).rejects.toMatchObject({ code: 'BAD_OPTION' });
    else expect((await generate).text).toMatch(/^a*$/);
  });
});
