// Blocks of a seeded generator, against hashes of the values from gguf-py (gguf-py/make.py).
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decode, encodeAll, formatNames, formats, type GgufFormat } from '../src/index.js';

const {
  blocks,
  formats: expected,
  encoded,
} = JSON.parse(readFileSync(join(import.meta.dirname, 'gguf-py/expected.json'), 'utf8')) as {
  blocks: number;
  formats: Partial<Record<GgufFormat, { cleared: readonly number[]; sha256: string }>>;
  encoded: { mxfp4: string };
};

const hash = (values: Uint8Array | Float32Array) =>
  createHash('sha256').update(new Uint8Array(values.buffer)).digest('hex');

/** The same bytes as in make.py. */
function randomBytes(count: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
}

const compared = formatNames.filter((format) => expected[format]);

test('every block format except q1_0 (gguf-py cannot decode it) is compared', () => {
  const inBlocks = formatNames.filter((format) => formats[format].blockSize > 1 && format !== 'q1_0');
  expect(compared).toEqual(inBlocks);
});

test.each(compared)('%s', (format) => {
  const { blockSize, blockBytes } = formats[format];
  const { cleared, sha256 } = expected[format]!;
  const src = randomBytes(blocks * blockBytes);
  for (let at = 0; at < src.length; at += blockBytes) for (const byte of cleared) src[at + byte]! &= 0xbf;
  const values = new Float32Array(blocks * blockSize);
  decode(format, src, 0, values, 0, values.length);
  const withoutSignedZeros = values.map((value) => value + 0);
  expect(hash(withoutSignedZeros)).toBe(sha256);
});

test('mxfp4 is encoded to the same bytes', () => {
  const floats = Float32Array.from(
    randomBytes(32 * blocks),
    (byte, i) => (byte - 127) / 2 ** ((i >> 5) % 32),
  );
  expect(hash(encodeAll('mxfp4', floats))).toBe(encoded.mxfp4);
});
