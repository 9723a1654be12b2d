import {
  cacheRow,
  contiguousKvCache,
  defineBackend,
  headScale,
  kvCacheBytes,
  putHead,
  scaleBytes,
} from '../src/index.js';
import { definitionDriver } from './definition-driver.js';

/** Elements and scale of a head after a write to an i8 cache. */
function kept(x: readonly number[]) {
  const row = new Int8Array(x.length + scaleBytes);
  putHead(Float32Array.from(x), 0, x.length, row, 0);
  return { elements: [...row.subarray(0, x.length)], scale: headScale(row, 0, x.length), row };
}

test('a head in steps of max|x| / 127, ties to even', () => {
  expect(kept([127, -127, 1, 0.5, 1.5, -2.5, 0]).elements).toEqual([127, -127, 1, 0, 2, -2, 0]);
  expect(kept([0.1, -0.2]).scale).toBe(Math.fround(Math.fround(0.2) / 127));
});

test('the scale is an f32 after the elements, little-endian', () => {
  const { row } = kept([254, 0, 0, 0]);
  expect(new DataView(row.buffer).getFloat32(4, true)).toBe(2);
});

test('zeros have scale 0, NaN or infinity spoils its head, a subnormal scale does not overflow', () => {
  expect(kept([0, -0])).toMatchObject({ elements: [0, 0], scale: 0 });
  for (const bad of [Number.NaN, Infinity, -Infinity])
    expect(kept([1, bad])).toMatchObject({ elements: [0, 0], scale: Number.NaN });
  expect(kept([2 ** -149 * 190, 0]).elements).toEqual([127, 0]);
});

test('bytes of a cache: elements, and with int8 their scales', () => {
  const options = { layers: 3, kvHeads: 2, headDim: 16 };
  const bytes = (dtype: 'f32' | 'f16' | 'bf16' | 'int8') => kvCacheBytes({ ...options, dtype }, 10);
  expect([bytes('f32'), bytes('f16'), bytes('bf16'), bytes('int8')]).toEqual(
    [4 * 16, 2 * 16, 2 * 16, 16 + 4].map((head) => 2 * 3 * 10 * 2 * head),
  );
});

const options = { layers: 1, kvHeads: 2, headDim: 16, context: 8, sequences: 1 };

test('a backend refuses a cache of an undeclared dtype and names its dtypes', () => {
  using backend = defineBackend(definitionDriver());
  expect(() => contiguousKvCache(backend, { ...options, dtype: 'int8' })).toThrow(
    expect.objectContaining({ code: 'UNSUPPORTED', message: expect.stringContaining('it has f32, f16') }),
  );
});

test('a backend with a declared dtype makes buffers with room for the scales', () => {
  const driver = definitionDriver();
  const { attention, kvAppend } = driver.manifest.ops;
  const wide = (support: typeof attention) => ({ ...support, cacheDtypes: ['f32', 'f16', 'i8'] as const });
  const ops = { ...driver.manifest.ops, attention: wide(attention), kvAppend: wide(kvAppend) };
  using backend = defineBackend({
    ...driver,
    manifest: { ops },
    capabilities: { kvQuant: { dtypes: ['int8'] } },
  });
  expect([...backend.kvQuant!.dtypes]).toEqual(['int8']);
  using cache = contiguousKvCache(backend, { ...options, dtype: 'int8' });
  const { k, v } = cache.layer(0);
  expect([k.shape, v.shape, k.dtype]).toEqual([[1, 8, 2, cacheRow('i8', 16)], [1, 8, 2, 20], 'i8']);
  expect(cache.byteLength).toBe(2 * 8 * 2 * 20);
  expect(() => contiguousKvCache(backend, { ...options, dtype: 'bf16' })).toThrow(
    expect.objectContaining({ code: 'UNSUPPORTED' }),
  );
});
