import { ModelError } from './error.js';

/** What a model is, and what opens it. */
const kinds = {
  language: 'a language model, which generates text. Use quern run or quern chat; in a program, loadModel',
  encoder:
    'an encoder, which embeds or ranks texts. Use quern embed or quern rerank; in a program, loadEmbedder',
  speech: 'a speech model, which transcribes audio. Use quern transcribe; in a program, loadSpeechModel',
} as const;

export type ArchitectureKind = keyof typeof kinds;

/** Models of a kind, by names that `quern pull` and every command take: packages/cli/test/wrong-kind.test.ts checks them. */
const examples: Readonly<Record<ArchitectureKind, string>> = {
  language: 'To generate text, take a language model, such as qwen3:0.6b',
  encoder:
    'To embed texts, take an encoder (BERT, RoBERTa, Nomic BERT), such as nomic-embed-text:v1.5; to rank them, a cross-encoder, such as hf:BAAI/bge-reranker-base',
  speech: 'To transcribe, take a Whisper model, such as hf:ggerganov/whisper.cpp:ggml-tiny.bin',
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
