import type { ChatMessage } from '../chat/index.js';
import { RuntimeError } from '../error.js';
import type { ChatOptions, GenerateOptions } from '../generation/generate-options.js';
import type { ChatGeneration, Generation } from '../generation/generation.js';
import type { OutputSchema, OutputValue } from '../structured/options.js';

/** The model's calls, with a check before they begin. */
export interface SessionModel {
  generate(prompt: string | readonly number[], options: GenerateOptions, needOpen: () => void): Generation;
  chat(messages: readonly ChatMessage[], options: ChatOptions, needOpen: () => void): ChatGeneration;
}

/**
 * The calls of one conversation. Each call gives the whole prompt; what the cache still holds of it is not computed
 * again, as for all calls of a model. A session adds an end: after `dispose` its calls are refused.
 */
export class Session {
  private ended = false;

  constructor(private readonly model: SessionModel) {}

  /** As `Model.generate`. */
  generate<const S extends OutputSchema>(
    prompt: string | readonly number[],
    options: GenerateOptions & { readonly schema: S },
  ): Generation<OutputValue<S>>;
  generate<const C extends readonly string[]>(
    prompt: string | readonly number[],
    options: GenerateOptions & { readonly choices: C },
  ): Generation<C[number], C[number]>;
  generate(prompt: string | readonly number[], options?: GenerateOptions): Generation;
  generate(prompt: string | readonly number[], options: GenerateOptions = {}): Generation {
    return this.model.generate(prompt, options, this.needOpen);
  }

  /** As `Model.chat`. */
  chat<const S extends OutputSchema>(
    messages: readonly ChatMessage[],
    options: ChatOptions & { readonly schema: S },
  ): ChatGeneration<OutputValue<S>>;
  chat<const C extends readonly string[]>(
    messages: readonly ChatMessage[],
    options: ChatOptions & { readonly choices: C },
  ): ChatGeneration<C[number], C[number]>;
  chat(messages: readonly ChatMessage[], options?: ChatOptions): ChatGeneration;
  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): ChatGeneration {
    return this.model.chat(messages, options, this.needOpen);
  }

  /** Refuses further calls. Disposing twice is harmless. */
  dispose(): void {
    this.ended = true;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private readonly needOpen = (): void => {
    if (this.ended) throw new RuntimeError('DISPOSED', 'the session has been disposed');
  };
}
