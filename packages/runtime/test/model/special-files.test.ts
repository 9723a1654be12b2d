import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBackend } from '@quern/backend-reference';
import { QuernError } from '@quern/core';
import { openModelFile } from '@quern/models';
import { InputFile, isGgml, openGgml, openGguf, openSafetensors, readImportance } from '@quern/quant';
import { readSamples } from '../../src/audio/read-samples.js';
import {
  chatTemplateFromHuggingFace,
  describeFile,
  loadModel,
  quantizeModel,
  readRegularFile,
  tokenizerFromHuggingFace,
  tokenizerFromJson,
} from '../../src/index.js';
import { openAnyModel } from '../../src/model/open-any-model.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-special-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;

/** A folder with minimal files for model discovery, and a special file called `name`. */
function folderWith(name: string, make: (path: string) => void): string {
  const place = join(folder, String(count++));
  mkdirSync(place);
  for (const other of ['config.json', 'model.safetensors', 'tokenizer.json'])
    if (other !== name) writeFileSync(join(place, other), other.endsWith('.json') ? '{}' : '');
  make(join(place, name));
  return join(place, name);
}

const kinds: Record<string, (path: string) => void> = {
  pipe: (path) => execFileSync('mkfifo', [path]),
  folder: (path) => mkdirSync(path),
  device: (path) => execFileSync('ln', ['-s', '/dev/zero', path]),
};

const tokenizer = tokenizerFromJson({ model: { type: 'WordLevel', vocab: { a: 0 }, unk_token: 'a' } });

const weight = (path: string) => ({
  name: 'w',
  shape: [4],
  format: 'f32' as const,
  bytes: { path, offset: 0, byteLength: 16 },
});

/** Everything that opens a file by name: the file's name, and how to open it. */
const openers: Record<string, readonly [name: string, open: (path: string) => unknown]> = {
  InputFile: ['any', InputFile.open],
  readRegularFile: ['any', (path) => readRegularFile(path, 100)],
  openGguf: ['model.gguf', openGguf],
  openGgml: ['ggml.bin', openGgml],
  isGgml: ['ggml.bin', isGgml],
  'openSafetensors, the file': ['model.safetensors', openSafetensors],
  'openSafetensors, the index': ['model.safetensors.index.json', openSafetensors],
  readImportance: ['imatrix.dat', readImportance],
  'openModelFile, weights': ['model.safetensors', openModelFile],
  'openModelFile, config.json': ['config.json', (path) => openModelFile(join(path, '..'))],
  openAnyModel: ['model.gguf', openAnyModel],
  loadModel: ['model.gguf', (path) => loadModel(path, { backend: 'reference' })],
  describeFile: ['model.gguf', describeFile],
  quantizeModel: ['model.gguf', (path) => quantizeModel(path, join(folder, 'out.gguf'), { mix: 'q8_0' })],
  tokenizerFromHuggingFace: ['tokenizer.json', (path) => tokenizerFromHuggingFace(join(path, '..'))],
  'chatTemplateFromHuggingFace, settings': [
    'tokenizer_config.json',
    (path) => chatTemplateFromHuggingFace(join(path, '..'), tokenizer),
  ],
  'chatTemplateFromHuggingFace, template': [
    'chat_template.jinja',
    (path) => chatTemplateFromHuggingFace(join(path, '..'), tokenizer),
  ],
  readSamples: ['sound.wav', (path) => readSamples(path)],
  'a weight of the reference backend': [
    'any',
    async (path) => {
      using backend = await createBackend();
      await backend.loadWeight(weight(path));
    },
  ],
};

describe.each(Object.entries(openers))('%s', (_, [name, open]) => {
  test.each(Object.entries(kinds))('refuses a %s at once', async (_kind, make) => {
    const path = folderWith(name, make);
    const outcome = await Promise.resolve(open(path)).then(
      () => 'opened',
      (error: unknown) => error,
    );
    expect(outcome).toBeInstanceOf(QuernError);
    expect(outcome).toMatchObject({ message: expect.stringContaining(join(path, '..')) });
  });
});
