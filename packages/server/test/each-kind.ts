import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Embedder,
  loadEmbedder,
  loadSpeechModel,
  type Model,
  makeSyntheticEncoder,
  makeSyntheticSpeechModel,
  type SpeechModel,
} from '@quern/runtime';
import { loadDemo } from './serving.js';

/** A model of each kind that a server takes. */
export interface EachKind {
  readonly demo: Model;
  readonly encoder: Embedder;
  readonly speech: SpeechModel;
}

/** Loads the demo model, and makes and loads a tiny encoder that ranks and a tiny speech model. */
async function loadEachKind(folder: string): Promise<EachKind> {
  const [encoder, speech] = [join(folder, 'encoder.gguf'), join(folder, 'speech.gguf')];
  await makeSyntheticEncoder(encoder, { shape: 'tiny', format: 'f32', ranks: true });
  await makeSyntheticSpeechModel(speech, { shape: 'whisper-test', format: 'f32' });
  const options = { backend: 'cpu', onNotice: () => {} };
  return {
    demo: await loadDemo(4),
    encoder: await loadEmbedder(encoder, options),
    speech: await loadSpeechModel(speech, options),
  };
}

/** Loads them before the tests of a file, and disposes of them after these. */
export function eachKind(): EachKind {
  const folder = mkdtempSync(join(tmpdir(), 'quern-each-kind-'));
  const models = {} as EachKind;
  beforeAll(async () => void Object.assign(models, await loadEachKind(folder)));
  afterAll(() => {
    for (const each of Object.values(models)) each.dispose();
    rmSync(folder, { recursive: true });
  });
  return models;
}
