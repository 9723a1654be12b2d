import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeSyntheticSpeechModel } from '@quern/runtime';
import { wavFile } from '../../runtime/test/audio/sound-files.js';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-transcribe-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const [model, audio] = [join(folder, 'whisper.gguf'), join(folder, 'tone.wav')];

beforeAll(async () => {
  await makeSyntheticSpeechModel(model, { shape: 'whisper-test', format: 'f32' });
  const tone = Array.from({ length: 24_000 }, (_, i) => 0.27 * Math.sin(i / 9));
  writeFileSync(audio, wavFile([tone], { bits: 16 }));
});

const short = ['--language', 'en', '--temperatures', '0', '--max-tokens', '6'];

test('transcribe --json prints text, segments and times per stage', async () => {
  const { code, stdout, stderr } = await quern(['transcribe', model, audio, ...short, '--words', '--json']);
  expect([code, stderr]).toEqual([0, '']);
  const result = JSON.parse(stdout);
  expect(result.text.length).toBeGreaterThan(0);
  expect(result).toMatchObject({ language: 'en', duration: 1.5, backend: 'cpu' });
  expect(result.stages.windows).toBeGreaterThanOrEqual(2);
  for (const segment of result.segments) {
    expect(segment.end).toBeGreaterThan(segment.start);
    expect(segment.words.length).toBeGreaterThan(0);
  }
});

test('transcribe prints lines, or subtitles', async () => {
  const text = await quern(['transcribe', model, audio, ...short]);
  expect(text.stderr).toMatch(/1\.5 s of sound \(en\) on cpu in .* encode .* decode/);
  const srt = await quern(['transcribe', model, audio, ...short, '--format', 'srt']);
  expect(srt.stdout).toMatch(/^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n/);
  const vtt = await quern(['transcribe', model, audio, ...short, '--format', 'vtt']);
  expect(vtt.stdout).toMatch(/^WEBVTT\n\n00:00:0\d\.\d{3} --> /);
  const lines = text.stdout.trim().split('\n');
  for (const line of lines) expect(srt.stdout).toContain(line);
});

test.each([
  ['a missing audio file', [join('no', 'such.wav')], /no such file \(NOT_FOUND\)/],
  ['an unknown language', ['AUDIO', '--language', 'klingon'], /language is "klingon"/],
])('transcribe refuses %s', async (_name, args, message) => {
  const { code, stdout, stderr } = await quern([
    'transcribe',
    model,
    ...args.map((arg) => (arg === 'AUDIO' ? audio : arg)),
  ]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(message);
});

test('transcribe reads what a browser records, and says how to convert what a phone records', async () => {
  const webm = fileURLToPath(new URL('../../runtime/test/audio/files/tone.webm', import.meta.url));
  expect((await quern(['transcribe', model, webm, ...short])).stderr).toMatch(/0\.3 s of sound/);
  const m4a = join(folder, 'memo.m4a');
  writeFileSync(m4a, Buffer.from('0000000c667479704d344120', 'hex'));
  const { code, stderr } = await quern(['transcribe', model, m4a]);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(`convert it: ffmpeg -i ${m4a} -ar 16000 -ac 1 out.wav (UNSUPPORTED)`),
  ]);
});

test('transcribe with swapped arguments: the error gives the order', async () => {
  const { code, stderr } = await quern(['transcribe', audio, model]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('the model comes first')]);
});

test('silence: an empty text, and subtitles without cues', async () => {
  const silence = join(folder, 'silence.wav');
  writeFileSync(silence, wavFile([new Array<number>(24_000).fill(0)], { bits: 16 }));
  for (const [format, expected] of [
    ['text', ''],
    ['srt', ''],
    ['vtt', 'WEBVTT\n'],
  ] as const) {
    const { code, stdout, stderr } = await quern(['transcribe', model, silence, '--format', format]);
    expect([code, stdout, stderr]).toEqual([0, expected, expect.stringContaining('no language')]);
  }
});
