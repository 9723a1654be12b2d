import { join } from 'node:path';
import { tokenizerFromHuggingFace } from '../../src/index.js';
import { nonSpeechTokens, textOf, vocabularyOf } from '../../src/speech/vocabulary.js';
import { sharedData, testShared } from '../shared-data.js';

/** `suppress_tokens` of openai/whisper-tiny: the text tokens. */
const published = [
  1, 2, 7, 8, 9, 10, 14, 25, 26, 27, 28, 29, 31, 58, 59, 60, 61, 62, 63, 90, 91, 92, 93, 359, 503, 522, 542,
  873, 893, 902, 918, 922, 931, 1350, 1853, 1982, 2460, 2627, 3246, 3253, 3268, 3536, 3846, 3961, 4183, 4667,
  6585, 6647, 7273, 9061, 9383, 10428, 10929, 11938, 12033, 12331, 12562, 13793, 14157, 14635, 15265, 15618,
  16553, 16604, 18362, 18956, 20075, 21675, 22520, 26130, 26161, 26435, 28279, 29464, 31650, 32302, 32470,
  36865, 42863, 47425, 49870, 50254,
];

testShared('Whisper’s vocabulary: special tokens, text, suppressed tokens', async () => {
  const vocabulary = vocabularyOf(await tokenizerFromHuggingFace(join(sharedData, 'tokenizers', 'whisper')));
  expect(vocabulary.ids).toMatchObject({
    endOfText: 50_257,
    start: 50_258,
    translate: 50_358,
    transcribe: 50_359,
    startOfPrevious: 50_361,
    noSpeech: 50_362,
    noTimestamps: 50_363,
    firstTimestamp: 50_364,
    multilingual: true,
  });
  expect(vocabulary.ids.languages.size).toBe(99);
  expect(vocabulary.ids.languages.get('de')).toBe(50_261);
  const tokens = vocabulary.encode!(' ask not what your country can do for you – né?');
  expect(textOf(vocabulary, [50_258, ...tokens, 50_257])).toBe(
    ' ask not what your country can do for you – né?',
  );
  expect(nonSpeechTokens(vocabulary)).toEqual(published);
});
