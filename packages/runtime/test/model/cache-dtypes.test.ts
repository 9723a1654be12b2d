import { createBackend as createReference, referenceDriver } from '@quern/backend-reference';
import { type Backend, defineBackend } from '@quern/core';
import { type KvDtype, loadModel } from '../../src/index.js';
import { countingBackend, cpuLevels, hasCpu } from '../backends.js';
import { tiny, writeTinyModel } from '../tiny-model.js';

let path: string;

beforeAll(async () => {
  path = await writeTinyModel();
});

const prompt = Array.from({ length: 40 }, (_, i) => 3 + ((i * 7) % 50));

/** The logits after a prompt in chunks, so that most keys come from the cache; [tokens][vocabulary]. */
async function logits(backend: Backend, cacheDtype: KvDtype): Promise<Float32Array[]> {
  using model = await loadModel(path, { backend, cacheDtype, prefillChunk: 7 });
  return await model.logits(prompt);
}

/** ‖a − b‖ ÷ ‖b‖. */
function distance(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  let [difference, size] = [0, 0];
  for (const [t, row] of b.entries())
    for (const [i, value] of row.entries()) {
      difference += (a[t]![i]! - value) ** 2;
      size += value ** 2;
    }
  return Math.sqrt(difference / size);
}

/** Error bounds for 2 layers. Rounding error of keys and values: 2⁻¹², 2⁻⁹, and 1/254 of the head's largest value; fp8: 2⁻⁴. */
const bounds = [
  ['f16', 1e-3],
  ['bf16', 8e-3],
  ['int8', 2e-2],
] as const;
const referenceBounds = [...bounds, ['fp8', 0.1]] as const;

test.each(referenceBounds)('%s cache: logits near f32’s, on backend-reference', async (dtype, bound) => {
  using backend = await createReference();
  const error = distance(await logits(backend, dtype), await logits(backend, 'f32'));
  expect(error).toBeGreaterThan(0);
  expect(error).toBeLessThan(bound);
});

const describeCpu = hasCpu ? describe : describe.skip;

describeCpu.each(cpuLevels)('on backend-cpu with %s', (isa) => {
  test.each(bounds)('%s cache: logits near f32’s and backend-reference’s', async (dtype, bound) => {
    const { createBackend } = await import('@quern/backend-cpu');
    using backend = await createBackend({ isa, threads: 2 });
    using reference = await createReference();
    const got = await logits(backend, dtype);
    expect(distance(got, await logits(backend, 'f32'))).toBeLessThan(bound);
    expect(distance(got, await logits(reference, dtype))).toBeLessThan(bound);
  });
});

test('the planned bytes equal the cache’s bytes', async () => {
  const { backend, live } = countingBackend();
  using model = await loadModel(path, { backend, cacheDtype: 'int8', context: 64 });
  expect(model.plan).toMatchObject({ cacheDtype: 'int8' });
  expect(model.plan.memory.cache).toBe(2 * tiny.layers * 64 * tiny.kvHeads * (tiny.headDim + 4));
  expect(live().buffers).toBeGreaterThanOrEqual(2 * tiny.layers);
  backend.dispose();
});

test('an unsupported cache dtype is refused before loading', async () => {
  const driver = referenceDriver();
  const { kvQuant: _, ...capabilities } = driver.capabilities!;
  const loadWeight = () => Promise.reject(new Error('a weight was loaded'));
  using backend = defineBackend({ ...driver, capabilities, loadWeight });
  await expect(loadModel(path, { backend, cacheDtype: 'bf16' })).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: "backend 'reference' has no bf16 cache; it has f32, f16",
  });
});
