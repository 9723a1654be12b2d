// The files for the guide's programs: random models, and one second of audio.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A mono WAV of 16-bit samples: a tone of 440 Hz. */
function tone(seconds, sampleRate = 16_000) {
  const samples = Int16Array.from({ length: seconds * sampleRate }, (_, t) =>
    Math.round(8000 * Math.sin((t * 2 * Math.PI * 440) / sampleRate)),
  );
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.byteLength, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16); // bytes of the format chunk
  header.writeUInt16LE(1, 20); // PCM
  header.writeUInt16LE(1, 22); // channels
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * 2, 28); // bytes per second
  header.writeUInt16LE(2, 32); // bytes per frame
  header.writeUInt16LE(16, 34); // bits per sample
  header.write('data', 36);
  header.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([header, Buffer.from(samples.buffer)]);
}

/** Writes the files into the application's folder, with the runtime installed there. */
export async function writeFiles(folder) {
  const runtime = createRequire(join(folder, 'package.json')).resolve('@quern/runtime');
  const { makeSyntheticEncoder, makeSyntheticSpeechModel } = await import(pathToFileURL(runtime).href);
  const at = (name) => join(folder, name);
  await makeSyntheticEncoder(at('bge-small.gguf'), { shape: 'tiny', format: 'f16' });
  await makeSyntheticEncoder(at('bge-reranker.gguf'), { shape: 'tiny', format: 'f16', ranks: true });
  await makeSyntheticSpeechModel(at('whisper-tiny.gguf'), { shape: 'whisper-test', format: 'f16' });
  writeFileSync(at('interview.wav'), tone(1));
}
