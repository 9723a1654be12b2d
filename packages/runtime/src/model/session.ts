import type { ChatMessage } from '../chat/index.js';
import { RuntimeError } from '../error.js';
import type { ChatGeneration } from '../generation/chat-generation.js';
import type { ChatOptions, GenerateOptions } from '../generation/generate-options.js';
import type { Generation } from '../generation/generation.js';

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

  generate(prompt: string | readonly number[], options: GenerateOptions = {}): Generation {
    return this.model.generate(prompt, options, this.needOpen);
  }

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
