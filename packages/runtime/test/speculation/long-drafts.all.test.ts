// Drafts longer than `exactRows`: the text equals plain greedy decoding, with exact and with rounded weights.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referenceDriver } from '@quern/backend-reference';
import { type Backend, defineBackend, type KernelDriver } from '@quern/core';
import { type GenerateOptions, loadModel, type Model, quantizeModel } from '../../src/index.js';
import { cpuLevels, hasCpu } from '../backends.js';
import { writeTinyModel } from '../tiny-model.js';

const demo = fileURLToPath(new URL('../../../demo-model/model/quern-demo.gguf', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'quern-drafts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const prompts = [
  'Once upon a time',
  'The fox',
  'A',
  'One day',
  'Lily',
  'The little boat',
  'Tom said',
  'In the',
];
const greedy: GenerateOptions = { temperature: 0, maxTokens: 100, ignoreEos: true };

const describeCpu = hasCpu ? describe : describe.skip;

describeCpu.each(['q4_0', 'q8_0', 'q4_k_m', 'f16'] as const)(
  'the demo model in %s, drafted by itself',
  (mix) => {
    const path = join(folder, `${mix}.gguf`);
    beforeAll(() => quantizeModel(demo, path, { mix }), 60_000);

    test.each(cpuLevels)(
      'drafts of 30 with %s',
      async (isa) => {
        const { createBackend } = await import('@quern/backend-cpu');
        using backend = await createBackend({ isa });
        using model = await loadModel(path, { backend });
        using draft = await loadModel(path, { backend });
        const speculate = { kind: 'draft', model: draft, maxDraft: 30, adaptive: false } as const;
        const told = isa === 'scalar' ? prompts.slice(0, 2) : prompts; // scalar rounds no weights, and is slow
        for (const prompt of told) {
          const want = await model.generate(prompt, greedy).result;
          const got = await model.generate(prompt, { ...greedy, speculate }).result;
          expect(got.tokens).toEqual(want.tokens);
          expect(got.acceptedTokens).toBe(got.draftedTokens); // equal weights, equally rounded
        }
      },
      120_000,
    );
  },
);

/** The reference backend with `exactRows`; records the rows of all products of logits. */
function promising(exactRows: number | undefined): { backend: Backend; rows: number[] } {
  const right = referenceDriver();
  const rows: number[] = [];
  const argmax: KernelDriver['kernels']['argmax'] = (operands, attributes, outputs) => {
    rows.push(outputs[0]!.shape[0]!);
    return right.kernels.argmax(operands, attributes, outputs);
  };
  const { exactRows: _, ...profile } = right.profile;
  const backend = defineBackend({
    ...right,
    profile: exactRows === undefined ? profile : { ...profile, exactRows },
    kernels: { ...right.kernels, argmax },
  });
  return { backend, rows };
}

describe('a backend with few exactRows', () => {
  const { backend: drafts } = promising(1);
  afterAll(() => drafts.dispose());
  const speculate = (model: Model) => ({ kind: 'draft', model, maxDraft: 30, adaptive: false }) as const;

  test('drafts are checked in steps of exactRows rows', async () => {
    const { backend, rows } = promising(4);
    using model = await loadModel(await writeTinyModel({}), { backend });
    using draft = await loadModel(await writeTinyModel({}), { backend: drafts });
    const want = await model.generate('the cat', { ...greedy, maxTokens: 40 }).result;
    const got = await model.generate('the cat', { ...greedy, maxTokens: 40, speculate: speculate(draft) })
      .result;
    expect(got.tokens).toEqual(want.tokens);
    expect(got.acceptedTokens).toBe(got.draftedTokens);
    expect(Math.max(...rows)).toBe(4);
    backend.dispose();
  });

  test('stops at the first step that finds a wrong token', async () => {
    const { backend, rows } = promising(4);
    using model = await loadModel(await writeTinyModel({}), { backend });
    using draft = await loadModel(await writeTinyModel({ seed: 500 }), { backend: drafts });
    const want = await model.generate('the cat', { ...greedy, maxTokens: 24 }).result;
    rows.length = 0;
    const got = await model.generate('the cat', { ...greedy, maxTokens: 24, speculate: speculate(draft) })
      .result;
    expect(got.tokens).toEqual(want.tokens);
    expect(got.acceptedTokens).toBeLessThan(got.draftedTokens / 4);
    expect(rows.filter((count) => count === 4).length).toBeLessThan(want.tokens.length);
    backend.dispose();
  });

  test('an abort during a long draft leaves the session consistent', async () => {
    const { backend, rows } = promising(4);
    using model = await loadModel(await writeTinyModel({}), { backend });
    using draft = await loadModel(await writeTinyModel({}), { backend: drafts });
    using session = model.session();
    const controller = new AbortController();
    const push = rows.push.bind(rows);
    rows.push = (count) => {
      if (count === 4 && rows.filter((known) => known === 4).length === 1) controller.abort();
      return push(count);
    };
    const { signal } = controller;
    const options = { ...greedy, maxTokens: 40, signal, speculate: speculate(draft) };
    const first = await session.generate('the cat', options).result;
    expect(first.reason).toBe('abort');
    const prompt = [...model.tokenize('the cat'), ...first.tokens, 5];
    const second = await session.generate(prompt, { ...greedy, maxTokens: 9 }).result;
    const want = await model.generate(prompt, { ...greedy, maxTokens: 9 }).result;
    expect(second.tokens).toEqual(want.tokens);
    expect(draft.freeBlocks).toBe(draft.stats().blocks);
    backend.dispose();
  });

  test.each([undefined, 1])('exactRows %p: speculation is refused', async (exactRows) => {
    const { backend } = promising(exactRows);
    using model = await loadModel(await writeTinyModel({}), { backend });
    const generation = model.generate('the cat', { ...greedy, speculate: { kind: 'lookup' } });
    await expect(generation.result).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining("'reference' promises that for 1 row (profile.exactRows)"),
    });
    backend.dispose();
  });
});
