// The vocabulary of a file of whisper.cpp, made of the real one: what GGUF has of it is what the folder has.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tokenizerFromGguf, tokenizerFromHuggingFace } from '../../src/index.js';
import { speechVocabularyToGguf } from '../../src/quantize/speech-vocabulary.js';
import { vocabularyOf } from '../../src/speech/vocabulary.js';
import { sharedData, testShared } from '../shared-data.js';

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

testShared('the order of the tokens tells the merges', async () => {
  const { metadata } = await both();
  const { model } = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'));
  const merges = model.merges.map((merge: string | string[]) =>
    Array.isArray(merge) ? merge.join(' ') : merge,
  );
  expect(metadata.get('tokenizer.ggml.merges')).toEqual(merges);
});

testShared('special tokens and texts are those of the folder', async () => {
  const { before, after } = await both();
  const [want, got] = [vocabularyOf(before), vocabularyOf(after)];
  expect(got.ids).toEqual(want.ids);
  for (const text of [' And so my fellow Americans', '狐 naïve\n42!', ''])
    expect(got.encode!(text)).toEqual(want.encode!(text));
});
