// A model given to the command of another kind of model: the message names the right command.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSyntheticEncoder, makeSyntheticSpeechModel } from '@quern/runtime';
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
  'is an encoder, which embeds or ranks texts. Use quern embed or quern rerank; in a program, loadEmbedder';
const ofSpeech =
  'is a speech model, which writes down what it hears. Use quern transcribe; in a program, loadSpeechModel';
const ofLanguage =
  'is a language model, which generates text. Use quern run or quern chat; in a program, loadModel';

test.each([
  ['run', [encoder, 'Hi'], ofEncoder],
  ['run', [whisper, 'Hi'], ofSpeech],
  ['run', [ggml, 'Hi'], ofSpeech],
  ['logits', [whisper, '--ids', '1'], ofSpeech],
  ['embed', ['demo', 'Hi'], ofLanguage],
  ['embed', [ggml, 'Hi'], ofSpeech],
  ['transcribe', ['demo', join(folder, 'speech.wav')], ofLanguage],
  ['transcribe', [encoder, join(folder, 'speech.wav')], ofEncoder],
])('%s %j', async (command, args, says) => {
  const { code, stdout, stderr } = await quern([command, ...args]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^quern: .*\(WRONG_KIND\)\n$/);
  expect(stderr).toContain(says);
});
