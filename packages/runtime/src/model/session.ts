import type { ChatMessage } from '../chat/index.js';
import type { Parked } from '../engine/lease.js';
import type { SequencePool } from '../engine/sequence-pool.js';
import type { Patience } from '../engine/waiter.js';
import { RuntimeError } from '../error.js';
import type { ChatOptions, GenerateOptions } from '../generation/generate-options.js';
import type { Generation } from '../generation/generation.js';
import type { OpenedSequence } from '../generation/generation-source.js';

/** Gets a sequence for a generation. */
export type OpenSequence = (
  ids: readonly number[],
  tokens: number,
  patience: Patience,
) => Promise<OpenedSequence>;

/** The model's parts that a session needs. */
export interface SessionModel {
  readonly pool: SequencePool;
  generate(prompt: string | readonly number[], options: GenerateOptions, open: OpenSequence): Generation;
  chat(messages: readonly ChatMessage[], options: ChatOptions, open: OpenSequence): Generation;
}

/** The sequence of the previous call and the tokens in it. */
interface Past {
  readonly parked: Parked;
  readonly tokens: readonly number[];
}

const commonLength = (a: readonly number[], b: readonly number[]): number => {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
};

/** Frees the cache blocks of sessions that were garbage-collected without `dispose`. */
const dropped = new FinalizationRegistry<{ readonly past: Past | undefined }>(({ past }) =>
  past?.parked.release(),
);

/**
 * Calls that share prefixes: the common prefix with the previous call is not computed again. Each call gives the whole
 * prompt. While no call runs, other calls may take the session's cache blocks; the next call then computes its whole
 * prompt. Where calls overlap, the call that ends last is kept for the next one.
 */
export class Session {
  private readonly kept: { past: Past | undefined } = { past: undefined };
  private ended = false;

  constructor(private readonly model: SessionModel) {
    dropped.register(this, this.kept);
  }

  generate(prompt: string | readonly number[], options: GenerateOptions = {}): Generation {
    return this.model.generate(prompt, options, this.open);
  }

  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): Generation {
    return this.model.chat(messages, options, this.open);
  }

  /** Frees the session's cache blocks. Disposing twice is harmless. */
  dispose(): void {
    this.ended = true;
    this.kept.past?.parked.release();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private readonly open: OpenSequence = async (ids, tokens, patience) => {
    this.needLive();
    const { past } = this.kept; // an overlapping call may replace `kept.past` during this wait
    const lease = await this.model.pool.acquire(tokens, patience, past?.parked);
    if (this.ended) lease.release();
    this.needLive();
    const { sequence } = lease;
    const held = sequence.length === 0 ? [] : past!.tokens;
    // At least the last token is computed: its logits choose the next token.
    const reused = Math.min(commonLength(held, ids), ids.length - 1);
    sequence.truncate(reused);
    const close = (left: readonly number[]) => {
      if (this.ended) return lease.release();
      this.kept.past?.parked.release();
      this.kept.past = { parked: lease.park(), tokens: left };
    };
    return { lease, reused, close };
  };

  private needLive(): void {
    if (this.ended) throw new RuntimeError('DISPOSED', 'the session has been disposed');
  }
}
