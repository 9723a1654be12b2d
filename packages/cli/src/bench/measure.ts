import type { GenerateOptions, GenerationResult, Model, Session } from '@quern/runtime';
import { BenchError } from './error.js';
import { batchOf, type LanguageWork } from './works.js';

/** Token ids that every vocabulary has; the text is meaningless. `seed` changes the first token. */
export const someTokens = (count: number, seed = 0): number[] =>
  Array.from({ length: count }, (_, i) => (i * 7919 + seed * 104729) % 256);

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
  async once(time: number): Promise<number> {
    const { kind, tokens, depth } = this.work;
    const [prompt, answer] = kind === 'prefill' ? [tokens, 1] : [1, tokens];
    const last = someTokens(prompt, time + 1);
    const start = performance.now();
    await Promise.all(
      this.sessions.map((session, i) => this.run(session, [...someTokens(depth, i), ...last], answer, depth)),
    );
    return performance.now() - start;
  }

  async warmUp(): Promise<void> {
    if (this.work.kind === 'prefill') await this.once(-1);
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

  /** @param depth tokens that the cache holds; undefined: any number */
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
  if (result.tokens.length === answer && result.cachedTokens === depth) return;
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
    while (times.length < repeat) times.push(await sequences.once(times.length));
    return times;
  } finally {
    sequences.dispose();
  }
}
