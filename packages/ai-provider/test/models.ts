import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Embedder,
  loadEmbedder,
  loadModel,
  loadSpeechModel,
  type Model,
  makeSyntheticEncoder,
  makeSyntheticSpeechModel,
  type SpeechModel,
} from '@quern/runtime';
import { hermesTemplate } from '../../server/test/hermes-template.mjs';

const demo = fileURLToPath(new URL('../../demo-model/model/quern-demo.gguf', import.meta.url));

/** The demo model, in a cache for several calls. */
export const loadDemo = (chatTemplate = hermesTemplate): Promise<Model> =>
  loadModel(demo, {
    backend: 'cpu',
    context: 1024,
    sequences: 2,
    chatTemplate,
    onNotice: () => {},
  });

const folder = () => mkdtempSync(join(tmpdir(), 'quern-ai-provider-'));

/** A random encoder that also ranks. */
export async function loadEncoder(): Promise<Embedder> {
  const path = join(folder(), 'encoder.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32', ranks: true });
  return loadEmbedder(path, { backend: 'cpu' });
}

/** A random Whisper. */
export async function loadWhisper(): Promise<SpeechModel> {
  const path = join(folder(), 'whisper.gguf');
  await makeSyntheticSpeechModel(path, { shape: 'whisper-test', format: 'f32' });
  return loadSpeechModel(path, { backend: 'cpu' });
}

/** A tone of 440 Hz as the bytes of a WAV file: 16 bits, 16 kHz, mono. */
export function tone(seconds: number): Uint8Array {
  const samples = Int16Array.from({ length: seconds * 16_000 }, (_, t) => 8000 * Math.sin(t / 5.8));
  const head = Buffer.alloc(44);
  head.write('RIFF....WAVEfmt ', 'latin1');
  head.writeUInt32LE(36 + samples.byteLength, 4);
  for (const [at, value] of [
    [16, 16],
    [24, 16_000],
    [28, 32_000],
    [40, samples.byteLength],
  ] as const)
    head.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    head.writeUInt16LE(value, at);
  head.write('data', 36, 'latin1');
  return Buffer.concat([head, Buffer.from(samples.buffer)]);
}
