import {
  cacheNumbers,
  cacheRow,
  contiguousKvCache,
  defineBackend,
  headScale,
  type KvDtype,
  kvCacheBytes,
  putHead,
  scaleBytes,
} from '../src/index.js';
import { definitionDriver } from './definition-driver.js';

/** Elements and scale of a head after a write to a cache with scales. */
function kept(x: readonly number[], dtype: 'i8' | 'u8' = 'i8') {
  const row = dtype === 'i8' ? new Int8Array(x.length + scaleBytes) : new Uint8Array(x.length + scaleBytes);
  putHead(dtype, Float32Array.from(x), 0, x.length, row, 0);
  return { elements: [...row.subarray(0, x.length)], scale: headScale(dtype, row, 0, x.length), row };
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

test('fp8: E4M3 of x / scale, the largest is 448', () => {
  const x = [448, -448, 1, -0.5, 0.013, 17, 0];
  const { elements, scale } = kept(x, 'u8');
  expect(scale).toBe(1);
  expect(elements).toEqual([0x7e, 0xfe, 0x38, 0xb0, 0x07, 0x58, 0]); // 17: a tie of 16 and 18
  expect(
    kept(
      x.map((value) => value / 1024),
      'u8',
    ),
  ).toMatchObject({ elements, scale: 1 / 1024 });
  expect(kept([0, -0], 'u8')).toMatchObject({ elements: [0, 0], scale: 0 });
  expect(kept([1, Infinity], 'u8')).toMatchObject({ elements: [0, 0], scale: Number.NaN });
  expect(kept([2 ** -149 * 671, 0], 'u8').elements).toEqual([0x7e, 0]); // scale 2^-149
});

test.each([
  ['i8', [100, -50, 0.3]],
  ['u8', [448, -7, 0.3]],
] as const)('the numbers of a cache of %s', (dtype, x) => {
  const { row, scale } = kept(x, dtype);
  const { shape, data } = cacheNumbers({ shape: [1, 1, 1, 7], dtype, data: row });
  expect(shape).toEqual([1, 1, 1, 3]);
  expect(data[0]).toBeCloseTo(x[0], 4);
  expect(data[1]).toBeCloseTo(x[1], dtype === 'u8' ? 4 : 0);
  expect(Math.abs(data[2]! - 0.3)).toBeLessThanOrEqual(dtype === 'u8' ? 0.3 / 16 : scale / 2);
});

test('bytes of a cache: elements, and with int8 and fp8 their scales', () => {
  const options = { layers: 3, kvHeads: 2, headDim: 16 };
  const bytes = (dtype: KvDtype) => kvCacheBytes({ ...options, dtype }, 10);
  expect([bytes('f32'), bytes('f16'), bytes('bf16'), bytes('int8'), bytes('fp8')]).toEqual(
    [4 * 16, 2 * 16, 2 * 16, 16 + 4, 16 + 4].map((head) => 2 * 3 * 10 * 2 * head),
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
