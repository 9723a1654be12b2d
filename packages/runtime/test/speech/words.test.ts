import { warp } from '../../src/speech/align-words.js';
import { compressionRatio } from '../../src/speech/decode-window.js';
import { toSrt, toVtt } from '../../src/speech/subtitles.js';
import { type SpeechVocabulary, vocabularyOfBytes } from '../../src/speech/vocabulary.js';
import { joinPunctuation, splitWords } from '../../src/speech/words.js';

const vocabulary = (texts: readonly (string | Uint8Array)[]): SpeechVocabulary =>
  vocabularyOfBytes(
    Array.from({ length: 50_257 }, (_, id) => {
      const text = texts[id] ?? '';
      return typeof text === 'string' ? Buffer.from(text) : text;
    }),
    51_865,
  );

test('words start at spaces; characters are not split', () => {
  const bytes = Buffer.from(' né');
  const v = vocabulary([' he', 'llo', ',', bytes.subarray(0, 3), bytes.subarray(3), '.']);
  expect(splitWords(v, [0, 1, 2, 3, 4, 5], 'en')).toEqual([
    { word: ' hello', tokens: [0, 1] },
    { word: ',', tokens: [2] },
    { word: ' né', tokens: [3, 4] },
    { word: '.', tokens: [5] },
  ]);
  expect(splitWords(vocabulary(['你', '好']), [0, 1], 'zh').map(({ word }) => word)).toEqual(['你', '好']);
});

test('punctuation joins its word and takes the word’s times', () => {
  const word = (text: string, start: number) => ({ word: text, start, end: start + 1, probability: 1 });
  const joined = joinPunctuation([
    word(' (', 0),
    word('well', 1),
    word(',', 2),
    word(' yes', 3),
    word('!', 4),
  ]);
  expect(joined.map(({ word, start }) => [word, start])).toEqual([
    [' (well,', 1],
    [' yes!', 3],
  ]);
});

test('the cheapest path is monotonic', () => {
  const cost = Float32Array.of(0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0);
  expect(warp(cost, 3, 5)).toEqual([0, 2, 4]);
});

test('the special ids of the three vocabularies', () => {
  const tokens = Array.from({ length: 50_257 }, () => new Uint8Array(0));
  expect(vocabularyOfBytes(tokens, 51_864).ids).toMatchObject({
    endOfText: 50_256,
    firstTimestamp: 50_363,
    multilingual: false,
  });
  expect(vocabularyOfBytes(tokens, 51_865).ids).toMatchObject({
    start: 50_258,
    transcribe: 50_359,
    firstTimestamp: 50_364,
  });
  expect(vocabularyOfBytes(tokens, 51_866).ids).toMatchObject({ noSpeech: 50_363, firstTimestamp: 50_365 });
  expect(vocabularyOfBytes(tokens, 51_866).ids.languages.get('yue')).toBe(50_358);
  expect(() => vocabularyOfBytes(tokens, 40_000)).toThrow(/not Whisper's/);
});

test('repetition compresses', () => {
  expect(compressionRatio('thank you '.repeat(30))).toBeGreaterThan(2.4);
  expect(compressionRatio('the quick brown fox jumps over the lazy dog')).toBeLessThan(2.4);
  expect(compressionRatio('')).toBe(0);
});

test('subtitles', () => {
  const segment = (start: number, end: number, text: string) => ({
    id: 0,
    start,
    end,
    text,
    tokens: [],
    temperature: 0,
    averageLogProbability: 0,
    compressionRatio: 1,
    noSpeechProbability: 0,
  });
  const segments = [segment(0, 1.5, ' One.'), segment(3661.25, 3662, ' Two --> three')];
  expect(toSrt(segments)).toBe(
    '1\n00:00:00,000 --> 00:00:01,500\nOne.\n\n2\n01:01:01,250 --> 01:01:02,000\nTwo -> three\n',
  );
  expect(toVtt(segments)).toBe(
    'WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nOne.\n\n01:01:01.250 --> 01:01:02.000\nTwo -> three\n',
  );
});
