import type { GenerateOptions, GenerationResult, Model, Session } from '@quern/runtime';
import { BenchError } from './error.js';
import { batchOf, type LanguageWork } from './works.js';

/** Token ids that every vocabulary has; the text is meaningless. `seed` changes the first token. */
export const someTokens = (count: number, seed = 0): number[] =>
  Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104729) % 256);

let prompts = 0;

/** Tokens that no earlier call had: the cache holds none of their blocks. */
function freshTokens(count: number): number[] {
  const seed = Math.imul(++prompts, 0x85ebca6b);
  return Array.from({ length: count }, (_, i) => {
    const mixed = Math.imul(i + 1, 0x9e3779b1) ^ seed;
    return Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d) >>> 24;
  });
}

/** Most generated tokens of a warm-up. */
const warmUpTokens = 8;

/** Repeats the same work for `batch` sequences of one model. */
class Sequences {
  readonly sessions: readonly Session[];

  constructor(
    private readonly model: Model,
    private readonly work: LanguageWork,
    private readonly signal: AbortSignal,
  ) {
    this.sessions = Array.from({ length: batchOf(work) }, () => model.session());
  }

  /** Fills each sequence's cache, one after the other. */
  async fill(): Promise<void> {
    if (this.work.depth === 0) return;
    for (const [i, session] of this.sessions.entries())
      await this.run(session, someTokens(this.work.depth, i), 0);
  }

  /** Does the work once; returns milliseconds. Each repetition has a new prompt, so no cache holds it. */
  async once(): Promise<number> {
    const { kind, tokens, depth } = this.work;
    const [prompt, answer] = kind === 'prefill' ? [tokens, 1] : [1, tokens];
    const last = freshTokens(prompt);
    const start = performance.now();
    await Promise.all(
      this.sessions.map((session, i) => this.run(session, [...someTokens(depth, i), ...last], answer, depth)),
    );
    return performance.now() - start;
  }

  async warmUp(): Promise<void> {
    if (this.work.kind === 'prefill') await this.once();
    else
      await Promise.all(
        this.sessions.map((session, i) =>
          this.run(
            session,
            [...someTokens(this.work.depth, i), 0],
            Math.min(warmUpTokens, this.work.tokens),
            this.work.depth,
          ),
        ),
      );
  }

  dispose(): void {
    for (const session of this.sessions) session.dispose();
  }

  /** @param depth tokens that the cache holds, or the whole blocks of them; undefined: any number */
  private async run(session: Session, ids: readonly number[], answer: number, depth?: number): Promise<void> {
    const options: GenerateOptions = {
      maxTokens: answer,
      temperature: 0,
      ignoreEos: true,
      reuse: depth !== 0,
      signal: this.signal,
    };
    const result = await session.generate(ids, options).result;
    this.signal.throwIfAborted();
    needAsAsked(this.model, result, answer, depth);
  }
}

/** Throws if the measured work differs from the requested work. */
function needAsAsked(
  model: Model,
  result: GenerationResult,
  answer: number,
  depth = result.cachedTokens,
): void {
  const cached = depth - (depth % model.stats().blockSize);
  if (result.tokens.length === answer && (result.cachedTokens === depth || result.cachedTokens === cached))
    return;
  throw new BenchError(
    'WRONG_WORK',
    `${model.path}: asked for ${answer} tokens after ${depth} in the cache; got ${result.tokens.length} after ${result.cachedTokens}`,
  );
}

/** Milliseconds of each of `repeat` repetitions, after a warm-up. Rejects with the signal's reason. */
export async function timesOf(
  model: Model,
  work: LanguageWork,
  repeat: number,
  signal: AbortSignal,
): Promise<number[]> {
  const sequences = new Sequences(model, work, signal);
  try {
    await sequences.fill();
    await sequences.warmUp();
    const times: number[] = [];
    while (times.length < repeat) times.push(await sequences.once());
    return times;
  } finally {
    sequences.dispose();
  }
}
