import { ModelError } from './error.js';

/** What a model is, and what opens it. */
const kinds = {
  language: 'a language model, which generates text. Use quern run or quern chat; in a program, loadModel',
  encoder:
    'an encoder, which embeds or ranks texts. Use quern embed or quern rerank; in a program, loadEmbedder',
  speech:
    'a speech model, which writes down what it hears. Use quern transcribe; in a program, loadSpeechModel',
} as const;

/** An architecture of another kind than the caller opens. */
export const wrongKind = (path: string, name: string, kind: keyof typeof kinds): ModelError =>
  new ModelError('WRONG_KIND', `${path}: '${name}' is ${kinds[kind]}`);
