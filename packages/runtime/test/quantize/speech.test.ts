// The vocabulary of a whisper.cpp file, made from a real one: the GGUF vocabulary equals the folder's.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend } from '@quern/backend-reference';
import { makeSyntheticSpeechModel } from '@quern/models';
import { openGguf } from '@quern/quant';
import {
  loadSpeechModel,
  quantizeModel,
  tokenizerFromGguf,
  tokenizerFromHuggingFace,
} from '../../src/index.js';
import { speechVocabularyToGguf } from '../../src/quantize/speech-vocabulary.js';
import { vocabularyOf } from '../../src/speech/vocabulary.js';
import { sharedData, testShared } from '../shared-data.js';
import { writeGgml } from './ggml-file.js';

const root = mkdtempSync(join(tmpdir(), 'quern-speech-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const folder = join(sharedData, 'tokenizers', 'whisper');
const [textTokens, size] = [50_257, 51_865];

async function both() {
  const before = await tokenizerFromHuggingFace(folder);
  const bytes = Array.from({ length: textTokens }, (_, id) => before.tokenBytes(id));
  const entries = speechVocabularyToGguf(bytes, size);
  const metadata = new Map(
    [...entries].map(([key, input]) => [
      key,
      typeof input === 'object' && 'type' in input && 'value' in input ? input.value : input,
    ]),
  );
  return { before, metadata, after: tokenizerFromGguf(metadata) };
}

testShared('the merges follow from the order of the tokens', async () => {
  const { metadata } = await both();
  const { model } = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'));
  const merges = model.merges.map((merge: string | string[]) =>
    Array.isArray(merge) ? merge.join(' ') : merge,
  );
  expect(metadata.get('tokenizer.ggml.merges')).toEqual(merges);
});

testShared('special tokens and texts equal the folder’s', async () => {
  const { before, after } = await both();
  const [want, got] = [vocabularyOf(before), vocabularyOf(after)];
  expect(got.ids).toEqual(want.ids);
  for (const text of [' And so my fellow Americans', '狐 naïve\n42!', ''])
    expect(got.encode!(text)).toEqual(want.encode!(text));
});

test('a whisper.cpp file → GGUF: the same transcript', async () => {
  const [synthetic, ggml, path] = ['synthetic.gguf', 'ggml-test.bin', 'converted.gguf'].map((name) =>
    join(root, name),
  );
  await makeSyntheticSpeechModel(synthetic!, { shape: 'whisper-test', format: 'f32' });
  await writeGgml(ggml!, synthetic!);
  await quantizeModel(ggml!, path!, { mix: 'f32' });
  const samples = Float32Array.from({ length: 16_000 }, (_, i) => 0.3 * Math.sin((i * i) / 200_000));
  using backend = await createBackend();
  const heard = async (from: string) => {
    using model = await loadSpeechModel(from, { backend });
    const options = { language: 'en', maxTokens: 6, temperatures: [0], noSpeechThreshold: 1 };
    const { segments } = await model.transcribe({ sampleRate: 16_000, samples }, options).result;
    return segments.map(({ tokens }) => tokens);
  };
  const got = await heard(path!);
  expect(got.flat().length).toBeGreaterThan(0);
  expect(got).toEqual(await heard(ggml!));
  await quantizeModel(path!, join(root, 'small.gguf'), { mix: 'q8_0' });
  const { tensors } = await openGguf(join(root, 'small.gguf'));
  const formats = Object.fromEntries(tensors.map(({ name, format }) => [name, format]));
  expect(formats['encoder.conv1.weight']).toBe('f32');
  expect(formats['decoder.token_embedding.weight']).toBe('q8_0');
});
