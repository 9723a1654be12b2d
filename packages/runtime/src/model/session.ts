import type { ChatMessage } from '../chat/index.js';
import type { Parked, SequencePool } from '../engine/sequence-pool.js';
import { RuntimeError } from '../error.js';
import type { ChatOptions, GenerateOptions } from '../generation/generate-options.js';
import type { Generation } from '../generation/generation.js';
import type { OpenedSequence } from '../generation/generation-source.js';

/** How a sequence comes to a generation. */
export type OpenSequence = (
  ids: readonly number[],
  tokens: number,
  signal: AbortSignal | undefined,
) => Promise<OpenedSequence>;

/** What a session needs of its model. */
export interface SessionModel {
  readonly pool: SequencePool;
  generate(prompt: string | readonly number[], options: GenerateOptions, open: OpenSequence): Generation;
  chat(messages: readonly ChatMessage[], options: ChatOptions, open: OpenSequence): Generation;
}

const commonLength = (a: readonly number[], b: readonly number[]): number => {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
};

/**
 * Calls that build on each other: what a call has in common with the one before, from the first token on, is not computed
 * again. Each call gives the whole prompt. While no call runs, others may take the session's part of the cache; then the
 * next call computes everything. Of calls that run at the same time, the one that ends last is built upon.
 */
export class Session {
  private parked: Parked | undefined;
  /** Tokens of the parked sequence. */
  private held: readonly number[] = [];
  private ended = false;

  constructor(private readonly model: SessionModel) {}

  generate(prompt: string | readonly number[], options: GenerateOptions = {}): Generation {
    return this.model.generate(prompt, options, this.open);
  }

  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): Generation {
    return this.model.chat(messages, options, this.open);
  }

  /** Frees the session's part of the cache. Disposing twice is harmless. */
  dispose(): void {
    this.ended = true;
    this.parked?.release();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private readonly open: OpenSequence = async (ids, tokens, signal) => {
    if (this.ended) throw new RuntimeError('DISPOSED', 'the session has been disposed');
    const lease = await this.model.pool.acquire(tokens, this.parked, signal);
    const { sequence } = lease;
    // The last token is computed in any case: its logits choose the next.
    const reused = sequence.length === 0 ? 0 : Math.min(commonLength(this.held, ids), ids.length - 1);
    sequence.truncate(reused);
    const close = (held: readonly number[]) => {
      if (this.ended) return lease.release();
      this.parked?.release();
      this.parked = lease.park();
      this.held = held;
    };
    return { lease, reused, close };
  };
}
