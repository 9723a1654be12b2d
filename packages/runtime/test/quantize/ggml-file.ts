import { readFileSync, writeFileSync } from 'node:fs';
import { openGguf } from '@quern/quant';
import { tokenizerFromGguf } from '../../src/index.js';

/** Text tokens; the special tokens follow. */
const textTokens = 50_257;

const words = (...numbers: number[]) => Buffer.from(Uint32Array.from(numbers).buffer);

/** Writes an f32 GGUF file's content as a whisper.cpp file. */
export async function writeGgml(path: string, gguf: string): Promise<void> {
  const { metadata, tensors } = await openGguf(gguf);
  const bytes = readFileSync(gguf);
  const sides = ['audio', 'text'].flatMap((side) =>
    ['ctx', 'state', 'head', 'layer'].map((key) => `n_${side}_${key}`),
  );
  const sizes = ['n_vocab', ...sides, 'n_mels'].map((key) => Number(metadata.get(`whisper.${key}`)));
  const tokens = metadata.get('tokenizer.ggml.tokens') as readonly string[];
  const tokenizer = tokenizerFromGguf(metadata);
  const texts = tokens.slice(0, textTokens).flatMap((_, id) => {
    const text = tokenizer.tokenBytes(id);
    return [words(text.length), text];
  });
  const parts = tensors.flatMap(({ name, shape, offset, byteLength }) => [
    words(shape.length, name.length, 0, ...[...shape].reverse()),
    Buffer.from(name),
    bytes.subarray(offset, offset + byteLength),
  ]);
  const head = [words(0x67676d6c, ...sizes, 0), words(0, 0), words(textTokens)];
  writeFileSync(path, Buffer.concat([...head, ...texts, ...parts]));
}
