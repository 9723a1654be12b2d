import { ModelError } from './error.js';
import { exampleModels } from './example-models.js';

/** What a model is, and what opens it. */
const kinds = {
  language: 'a language model, which generates text. Use quern run or quern chat; in a program, loadModel',
  encoder:
    'an encoder, which embeds or ranks texts. Use quern embed or quern rerank; in a program, loadEmbedder',
  speech: 'a speech model, which transcribes audio. Use quern transcribe; in a program, loadSpeechModel',
} as const;

export type ArchitectureKind = keyof typeof kinds;

const { language, encoder, crossEncoder, speech } = exampleModels;

const examples: Readonly<Record<ArchitectureKind, string>> = {
  language: `To generate text, take a language model, such as ${language}`,
  encoder: `To embed texts, take an encoder (BERT, RoBERTa, Nomic BERT), such as ${encoder}; to rank them, a cross-encoder, such as ${crossEncoder}`,
  speech: `To transcribe, take a Whisper model, such as ${speech}`,
};

/** An architecture of another kind than `wanted`, which the caller opens. */
export const wrongKind = (
  path: string,
  name: string,
  kind: ArchitectureKind,
  wanted: ArchitectureKind,
): ModelError =>
  new ModelError(
    'WRONG_KIND',
    `${path}: '${name}' is ${kinds[kind]}. ${examples[wanted]} (quern pull NAME downloads it)`,
  );
