import { writeFileSync } from 'node:fs';
import { FileError, isGgml, openGgml } from '../src/index.js';
import { scratch } from './scratch.js';
import { describeShared, shared } from './shared-data.js';

const words = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
const sizes = [3, 4, 2, 1, 1, 6, 2, 1, 1, 5, 1];

/** A file with a vocabulary of two tokens and two tensors: [2, 3] in f16 and [4] in f32. */
function sample(): Buffer {
  const token = (text: string) => Buffer.concat([words(text.length), Buffer.from(text)]);
  const tensor = (name: string, type: number, dimensions: number[], bytes: number) =>
    Buffer.concat([
      words(dimensions.length, name.length, type, ...dimensions),
      Buffer.from(name),
      Buffer.alloc(bytes, 1),
    ]);
  return Buffer.concat([
    words(0x67676d6c, ...sizes),
    words(1, 3),
    Buffer.alloc(12),
    words(2),
    token('a'),
    token(' bc'),
    tensor('encoder.conv1.weight', 1, [3, 2], 12),
    tensor('encoder.ln.bias', 0, [4], 16),
  ]);
}

function write(bytes: Uint8Array): string {
  const path = scratch('model.bin');
  writeFileSync(path, bytes);
  return path;
}

test('sizes, tokens and places of tensors', async () => {
  const bytes = sample();
  const path = write(bytes);
  const file = await openGgml(path);
  expect(await isGgml(path)).toBe(true);
  expect([...file.sizes.values()]).toEqual(sizes);
  expect(file.sizes.get('n_mels')).toBe(5);
  expect(file.tokens.map((token) => Buffer.from(token).toString())).toEqual(['a', ' bc']);
  expect(file.tensors).toEqual([
    expect.objectContaining({ name: 'encoder.conv1.weight', shape: [2, 3], format: 'f16', byteLength: 12 }),
    expect.objectContaining({
      name: 'encoder.ln.bias',
      shape: [4],
      format: 'f32',
      offset: bytes.length - 16,
    }),
  ]);
});

test('a file cut at any byte is refused, or ends between two tensors', async () => {
  const bytes = sample();
  const { tensors } = await openGgml(write(bytes));
  const headEnd = tensors[0]!.offset - 4 * 5 - tensors[0]!.name.length;
  const ends = [headEnd, ...tensors.map((tensor) => tensor.offset + tensor.byteLength)];
  for (let length = 0; length < bytes.length; length++) {
    const opened = openGgml(write(bytes.subarray(0, length)));
    if (ends.includes(length)) expect((await opened).tensors).toHaveLength(ends.indexOf(length));
    else await expect(opened).rejects.toBeInstanceOf(FileError);
  }
});

test('a file with any word changed', async () => {
  const bytes = sample();
  for (let at = 0; at + 4 <= bytes.length; at++)
    for (const value of [0, 7, 0x7fffffff, 0xffffffff]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt32LE(value, at);
      const file = await openGgml(write(changed)).catch((error: unknown) => {
        expect(error).toBeInstanceOf(FileError);
      });
      for (const tensor of file?.tensors ?? [])
        expect(tensor.offset + tensor.byteLength).toBeLessThanOrEqual(bytes.length);
    }
});

describeShared('whisper', () => {
  test('the header of tiny.en', async () => {
    const { sizes, tokens, tensors } = await openGgml(shared('whisper', 'for-tests-ggml-tiny.en.bin'));
    expect(Object.fromEntries(sizes)).toMatchObject({ n_vocab: 51_864, n_audio_state: 384, n_mels: 80 });
    expect(tokens).toHaveLength(50_257);
    expect(Buffer.from(tokens[262]!).toString()).toBe(' the');
    expect(tensors).toEqual([]);
  });
});
