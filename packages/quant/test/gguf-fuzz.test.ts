import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { runs } from '../../../test-scope.js';
import { FileError, type GgufFile, parseGguf, writeGguf } from '../src/index.js';
import { scratch } from './scratch.js';

/** A small file with every kind of metadata and several tensors. */
async function sample(): Promise<Uint8Array> {
  const tensors = [
    { name: 'token_embd.weight', shape: [4, 32], format: 'q4_0', data: new Uint8Array(72) },
    { name: 'blk.0.attn_norm.weight', shape: [32], format: 'f32', data: new Uint8Array(128) },
    { name: 'output.weight', shape: [1, 256], format: 'q6_k', data: new Uint8Array(210) },
  ] as const;
  const metadata = {
    'general.architecture': 'llama',
    'llama.block_count': 1,
    'llama.rope.freq_base': { type: 'float32', value: 10000 },
    'tokenizer.ggml.tokens': ['<s>', 'é', 'ok', ''],
    'tokenizer.ggml.scores': Float32Array.of(0, -1, -2, -3),
    flags: [true, false],
    big: 2n ** 60n,
    nested: [['a'], ['b']],
  } as const;
  await writeGguf(scratch('fuzz.gguf'), { metadata, tensors, alignment: 64 });
  return new Uint8Array(await readFile(scratch('fuzz.gguf')));
}

/** Parses. On failure the error must be a FileError; on success all tensors must lie within the file. */
function parses(bytes: Uint8Array): boolean {
  let file: GgufFile;
  try {
    file = parseGguf(bytes);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return false;
  }
  for (const { offset, byteLength } of file.tensors)
    expect(offset + byteLength).toBeLessThanOrEqual(bytes.length);
  return true;
}

test('a file cut at any byte is refused', async () => {
  const bytes = await sample();
  const end = Math.max(...parseGguf(bytes).tensors.map(({ offset, byteLength }) => offset + byteLength));
  for (let length = 0; length < end; length++) expect(parses(bytes.subarray(0, length))).toBe(false);
  expect(parses(bytes.subarray(0, end))).toBe(true);
});

test('each single byte changed, in several ways', async () => {
  const bytes = await sample();
  let refused = 0;
  for (let at = 0; at < parseGguf(bytes).tensorDataOffset; at++) {
    for (const flip of [0x01, 0x20, 0x80, 0xff]) {
      const changed = Uint8Array.from(bytes);
      changed[at]! ^= flip;
      if (!parses(changed)) refused++;
    }
  }
  expect(refused).toBeGreaterThan(100);
});

test('many bytes changed', async () => {
  const bytes = await sample();
  const edits = fc.array(fc.tuple(fc.nat(parseGguf(bytes).tensorDataOffset - 1), fc.nat(255)), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(edits, (list) => {
      const changed = Uint8Array.from(bytes);
      for (const [at, value] of list) changed[at] = value;
      parses(changed);
    }),
    { seed: 11, numRuns: runs(3000) },
  );
});

test('64-bit fields set to extremes', async () => {
  const bytes = await sample();
  const extremes = [0n, 1n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 60n, 2n ** 63n, 2n ** 64n - 1n];
  for (let at = 8; at + 8 <= parseGguf(bytes).tensorDataOffset; at++) {
    for (const value of extremes) {
      const changed = Uint8Array.from(bytes);
      new DataView(changed.buffer).setBigUint64(at, value, true);
      parses(changed);
    }
  }
});

test('random bytes after the magic', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (tail) => {
      parses(Uint8Array.of(0x47, 0x47, 0x55, 0x46, 3, 0, 0, 0, ...tail));
    }),
    { seed: 13, numRuns: runs(2000) },
  );
});
