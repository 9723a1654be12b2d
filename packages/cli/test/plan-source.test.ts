// The memory that each model of a server is planned for.
import { writeScriptedModel } from '../../runtime/test/scripted-model.js';
import { planSource } from '../src/serve/plan-source.js';

const options = { backend: 'cpu', sequences: 4, onNotice: () => {} } as const;
/** Longer than the modest context of 4096 that a model gets at least. */
const context = 65_536;

let path: string;
beforeAll(async () => {
  path = await writeScriptedModel(['a', ' b'], { context });
});

/** The plan, and the bytes of a token in the cache. */
async function planned(memoryBytes: number | undefined, models: number, more: { context?: number } = {}) {
  const { plan, memoryBytes: limit } = await planSource(
    path,
    { ...options, ...more },
    { memoryBytes, models },
  );
  return { bytes: plan.bytes, context: plan.context!, room: plan.plan!.room, limit };
}

test('one model may take all of the memory', async () => {
  const whole = await planned(undefined, 1);
  expect(whole).toMatchObject({ context, limit: undefined });
  const bounded = await planned(whole.bytes, 1);
  expect(bounded.limit).toBe(whole.bytes);
  expect(bounded.bytes).toBeLessThanOrEqual(whole.bytes);
});

test('a model that fits in its share has what it would have alone', async () => {
  const alone = await planned(undefined, 1);
  const budget = 4 * alone.bytes;
  const one = await planned(budget, 1);
  expect(await planned(budget, 2)).toEqual({ ...one, limit: budget });
});

test('a smaller share: a smaller cache, so that all models fit together', async () => {
  const whole = await planned(undefined, 1);
  const [budget, models] = [2 * whole.bytes, 8];
  const { bytes, room } = await planned(budget, models);
  expect(bytes).toBeLessThanOrEqual(budget / models);
  expect(room).toBeLessThan(whole.room);
});

test('a share below the weights and a modest context: as much as these need', async () => {
  const whole = await planned(undefined, 1);
  const { bytes, context: own, room } = await planned(whole.bytes, 1000);
  expect(bytes).toBeGreaterThan(whole.bytes / 1000);
  expect([room, own]).toEqual([4 * 4096, 4 * 4096]); // the sequences share the room
});

test('a context that was asked for stays', async () => {
  const asked = await planned(undefined, 1, { context: 8192 });
  expect(await planned(2 * asked.bytes, 8, { context: 8192 })).toMatchObject({
    context: 8192,
    bytes: asked.bytes,
  });
});

test('a budget that the model does not fit in', async () => {
  await expect(planned(1_000_000, 2)).rejects.toMatchObject({
    code: 'MODEL_TOO_LARGE',
    message: /too large.*; --memory allows 1\.0 MB$/,
  });
});
