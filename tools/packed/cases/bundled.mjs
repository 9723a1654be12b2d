// An application bundled into one file: finds the installed backend, accepts a bundled backend as instance, and its
// threads find their files.
import { join } from 'node:path';
import { createBackend } from '@quern/backend-cpu';
import {
  loadModel,
  loadSpeechModel,
  makeSyntheticSpeechModel,
  quantizeModel,
  RuntimeError,
} from '@quern/runtime';

async function text(backend) {
  const model = await loadModel('demo', { backend });
  const { text } = await model.generate('Once upon a time', { maxTokens: 8, temperature: 0 }).result;
  model.dispose();
  return text;
}

async function main() {
  const backend = await createBackend();
  const [found, given] = [await text('cpu'), await text(backend)];
  backend.dispose();
  if (found !== given) throw new Error(`${found} is not ${given}`);
  const folder = process.argv[2];
  const [whisper, kind] = [join(folder, 'bundled.gguf'), process.argv[3]];
  await makeSyntheticSpeechModel(whisper, { shape: 'whisper-test', format: 'f32' });
  const speech = await loadSpeechModel(whisper, { backend: 'cpu' });
  const options = { language: 'en', temperatures: [0], maxTokens: 4 };
  await speech.transcribe(join(folder, 'tone.mp3'), options).result;
  speech.dispose();
  await quantizeModel('demo', join(folder, `bundled-${kind}.gguf`), { mix: 'q4_0', threads: 2 });
  const error = await loadModel('demo', { backend: 'none' }).catch((reason) => reason);
  if (!(error instanceof RuntimeError)) throw error;
  console.log('well');
}

main();
