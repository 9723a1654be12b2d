// A model given to the command of another kind of model: the message names the right command.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shortNames } from '@quern/hub';
import { exampleModels, makeSyntheticEncoder, makeSyntheticSpeechModel } from '@quern/runtime';
import { writeGgml } from '../../runtime/test/quantize/ggml-file.js';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-kind-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const [encoder, whisper, ggml] = ['encoder.gguf', 'whisper.gguf', 'ggml-whisper.bin'].map((name) =>
  join(folder, name),
) as [string, string, string];

beforeAll(async () => {
  await makeSyntheticEncoder(encoder, { shape: 'tiny', format: 'f32' });
  await makeSyntheticSpeechModel(whisper, { shape: 'whisper-test', format: 'f32' });
  await writeGgml(ggml, whisper);
});

const ofEncoder =
  'is an encoder, which embeds or ranks texts. Use quern embed or quern rerank; in a program, loadEmbedder. ';
const ofSpeech =
  'is a speech model, which transcribes audio. Use quern transcribe; in a program, loadSpeechModel. ';
const ofLanguage =
  'is a language model, which generates text. Use quern run or quern chat; in a program, loadModel. ';

/** What the command takes instead. */
const wanted: Readonly<Record<string, RegExp>> = {
  run: /To generate text, take a language model, such as (\S+) \(quern pull NAME/,
  logits: /To generate text, take a language model, such as (\S+) \(quern pull NAME/,
  embed:
    /To embed texts, take an encoder .*, such as (\S+); to rank them, .*, such as (\S+) \(quern pull NAME/,
  rerank:
    /To embed texts, take an encoder .*, such as (\S+); to rank them, .*, such as (\S+) \(quern pull NAME/,
  transcribe: /To transcribe, take a Whisper model, such as (\S+) \(quern pull NAME/,
};

const short: readonly string[] = Object.entries(shortNames).flatMap(([family, tags]) =>
  Object.keys(tags).map((tag) => `${family}:${tag}`),
);
const isKnown = (name: string): boolean =>
  short.includes(name) || /^hf:[\w.-]+\/[\w.-]+(:[\w.-]+)?$/.test(name);

test('the models that messages name are of the table of short names, or whole names', () => {
  expect(Object.values(exampleModels).filter((name) => !isKnown(name))).toEqual([]);
});

test.each([
  ['run', [encoder, 'Hi'], ofEncoder],
  ['run', [whisper, 'Hi'], ofSpeech],
  ['run', [ggml, 'Hi'], ofSpeech],
  ['logits', [whisper, '--ids', '1'], ofSpeech],
  ['embed', [ggml, 'Hi'], ofSpeech],
  ['rerank', [ggml, 'Hi', 'Ho'], ofSpeech],
  ['transcribe', ['demo', join(folder, 'speech.wav')], ofLanguage],
  ['transcribe', [encoder, join(folder, 'speech.wav')], ofEncoder],
])('%s %j', async (command, args, says) => {
  const { code, stdout, stderr } = await quern([command, ...args]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^quern: .*\(WRONG_KIND\)\n$/);
  expect(stderr).toContain(says);
  const [, ...names] = wanted[command]!.exec(stderr) ?? [];
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) expect([name, isKnown(name)]).toEqual([name, true]);
});
