import { readFileSync } from 'node:fs';
import { decodeRows, openGguf, parseGguf } from '../src/index.js';
import { describeShared, filesIn, readShared, shared } from './shared-data.js';

const tensorNamed = async (path: string, name: string) =>
  (await openGguf(path)).tensors.find((tensor) => tensor.name === name)!;

describeShared('llama-stories260K', () => {
  const path = shared('llama-stories260K/stories260K.gguf');

  test('the header is read in full', async () => {
    const file = await openGguf(path);
    expect(file.metadata.get('general.architecture')).toBe('llama');
    expect(file.metadata.get('llama.block_count')).toBe(5);
    expect((file.metadata.get('tokenizer.ggml.tokens') as string[]).length).toBe(512);
    expect(file.metadata.get('tokenizer.ggml.scores')).toBeInstanceOf(Float32Array);
    expect(file.tensors.length).toBe(48);
    expect(file.paths).toEqual([path]);
  });

  test('shapes are row-major and places are absolute', async () => {
    const up = await tensorNamed(path, 'blk.0.ffn_up.weight');
    expect(up).toMatchObject({ shape: [172, 64], format: 'f32', path, byteLength: 172 * 64 * 4 });
    const last = (await openGguf(path)).tensors.at(-1)!;
    expect(last.offset + last.byteLength).toBeLessThanOrEqual(
      readShared('llama-stories260K/stories260K.gguf').length,
    );
  });
});

describeShared('llamacpp-vocab', () => {
  test.each(filesIn('llamacpp-vocab', '.gguf'))('%s: vocabulary and merges', async (name) => {
    const file = await openGguf(shared('llamacpp-vocab', name));
    const tokens = file.metadata.get('tokenizer.ggml.tokens') as string[];
    expect(tokens.length).toBeGreaterThan(30000);
    expect(tokens.every((token) => typeof token === 'string')).toBe(true);
    expect((file.metadata.get('tokenizer.ggml.token_type') as Int32Array).length).toBe(tokens.length);
    expect(file.tensors).toEqual([]);
  });
});

describeShared('tiny-hf', () => {
  test.each(filesIn('tiny-hf', '.gguf'))('%s: read from disk and from memory alike', async (name) => {
    const path = shared('tiny-hf', name);
    const file = await openGguf(path);
    expect(file.tensors.length).toBeGreaterThan(0);
    expect(parseGguf(readShared('tiny-hf', name), { path })).toEqual(file);
  });

  test('tiny_kquant.gguf decodes to its reference bit for bit', async () => {
    const reference = JSON.parse(readFileSync(shared('tiny-hf/tiny_kquant_ref.json'), 'utf8'));
    const bytes = readShared('tiny-hf/tiny_kquant.gguf');
    const tensors = parseGguf(bytes).tensors.filter(({ name }) => name.startsWith('kq.'));
    expect(tensors.map(({ format }) => format)).toEqual(['q4_k', 'q5_k', 'q6_k', 'q2_k']);
    for (const { format, shape, offset, byteLength } of tensors) {
      const data = bytes.subarray(offset, offset + byteLength);
      const expected = Float32Array.from(reference.dequant[format.toUpperCase()]);
      expect(decodeRows(format, data, shape[0]!, 0, 1)).toEqual(expected);
    }
  });
});
