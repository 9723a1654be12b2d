import type { Architecture } from './architecture.js';
import { bert } from './encoder/bert.js';
import type { EncoderArchitecture } from './encoder/encoder.js';
import { nomicBert } from './encoder/nomic-bert.js';
import { roberta } from './encoder/roberta.js';
import { ModelError } from './error.js';
import { gemma2 } from './gemma2.js';
import { gemma3 } from './gemma3.js';
import { llama } from './llama.js';
import { mistral } from './mistral.js';
import { mixtral } from './mixtral.js';
import { phi3 } from './phi3.js';
import { qwen2 } from './qwen2.js';
import { qwen3 } from './qwen3.js';
import { qwen3Moe } from './qwen3-moe.js';
import type { Naming } from './weights/weight-file.js';
import { speechNames } from './whisper/names.js';
import { wrongKind } from './wrong-kind.js';

const registered: (Architecture | EncoderArchitecture)[] = [];

const isEncoder = (architecture: Architecture | EncoderArchitecture): architecture is EncoderArchitecture =>
  'kind' in architecture;

const namingOf: Readonly<Record<Naming, string>> = { gguf: 'GGUF', huggingFace: 'Hugging Face' };

/**
 * Adds an architecture: files with one of its names can then be opened.
 * @throws ModelError DUPLICATE_ARCHITECTURE if a name is taken.
 */
export function registerArchitecture(architecture: Architecture | EncoderArchitecture): void {
  for (const naming of ['gguf', 'huggingFace'] as const)
    for (const name of architecture.names[naming]) {
      const holder = registered.find(({ names }) => names[naming].includes(name));
      if (holder)
        throw new ModelError(
          'DUPLICATE_ARCHITECTURE',
          `the ${namingOf[naming]} name '${name}' already belongs to the architecture '${holder.name}'`,
        );
    }
  registered.push(architecture);
}

/**
 * The decoder with `name` in files of one kind.
 * @param path the file, for the message
 * @throws ModelError UNKNOWN_ARCHITECTURE, with the known names, or WRONG_KIND for an encoder or a speech model.
 */
export function findArchitecture(naming: Naming, name: string, path: string): Architecture {
  const found = find(naming, name, path);
  if (!isEncoder(found)) return found;
  throw wrongKind(path, name, 'encoder');
}

/**
 * The encoder with `name` in files of one kind.
 * @param path the file, for the message
 * @throws ModelError UNKNOWN_ARCHITECTURE, with the known names, or WRONG_KIND for a decoder or a speech model.
 */
export function findEncoder(naming: Naming, name: string, path: string): EncoderArchitecture {
  const found = find(naming, name, path);
  if (isEncoder(found)) return found;
  throw wrongKind(path, name, 'language');
}

/** @throws ModelError UNKNOWN_ARCHITECTURE, or WRONG_KIND for an architecture that hears no speech. */
export function needSpeech(naming: Naming, name: string, path: string): void {
  if (speechNames[naming].includes(name)) return;
  const found = registeredAs(naming, name);
  if (found) throw wrongKind(path, name, isEncoder(found) ? 'encoder' : 'language');
  throw new ModelError(
    'UNKNOWN_ARCHITECTURE',
    `${path}: the architecture '${name}' does not transcribe speech; those that do: ${speechNames[naming].join(', ')}`,
  );
}

const registeredAs = (naming: Naming, name: string) =>
  registered.find(({ names }) => names[naming].includes(name));

function find(naming: Naming, name: string, path: string): Architecture | EncoderArchitecture {
  const found = registeredAs(naming, name);
  if (found) return found;
  if (speechNames[naming].includes(name)) throw wrongKind(path, name, 'speech');
  const known = registered.flatMap(({ names }) => names[naming]).join(', ');
  throw new ModelError(
    'UNKNOWN_ARCHITECTURE',
    `${path}: the architecture '${name}' is not known; known in ${namingOf[naming]} files: ${known}`,
  );
}

const ours = [
  llama,
  mistral,
  qwen2,
  qwen3,
  mixtral,
  qwen3Moe,
  gemma2,
  gemma3,
  phi3,
  bert,
  roberta,
  nomicBert,
];
for (const architecture of ours) registerArchitecture(architecture);
