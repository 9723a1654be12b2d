import type { Backend, KvSequence } from '@quern/core';
import { needFiniteLogits } from '../broken-numbers.js';
import { noToken } from '../sampling/draws.js';
import { appending } from './appending.js';
import { DecodeBatch } from './decode-batch.js';
import type { DecodeRequest } from './decode-member.js';
import type { ForwardStepsOptions } from './forward-options.js';
import { ForwardSteps } from './forward-steps.js';
import { inFlight } from './in-flight.js';
import type { Head, RowOutput } from './step-output.js';
import type { TokenChoice } from './token-choice.js';

/** Options of a call. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk of a prompt. `processed`: tokens done, of `total`. */
  readonly onProgress?:
    | ((progress: { readonly processed: number; readonly total: number }) => void)
    | undefined;
}

/** Most bytes of logits from one step of `logits`. */
const logitsBytes = 64 << 20;

const noStops = new Int32Array(0);

/**
 * One model and one cache: tokens of a sequence in, next token or logits out. A rejected step leaves the sequence as
 * before.
 */
export class Engine {
  private readonly steps: ForwardSteps;
  private readonly batch: DecodeBatch;

  constructor(private readonly options: ForwardStepsOptions) {
    this.steps = new ForwardSteps(options);
    this.batch = new DecodeBatch(this.steps);
  }

  get backend(): Backend {
    return this.options.model.backend;
  }

  /** Most rows of a step such that each row has the same bits as in a step of its own. */
  get exactRows(): number {
    return Math.min(...this.options.model.parts.map(({ backend }) => backend.profile.exactRows ?? 1));
  }

  /** Computes a prompt in chunks and chooses the next token. `ids` must not be empty. */
  async prefill(
    sequence: KvSequence,
    ids: readonly number[],
    choice: TokenChoice,
    { signal, onProgress }: RunOptions,
  ): Promise<number> {
    let processed = 0;
    const tell = (tokens: number): void => {
      processed += tokens;
      onProgress?.({ processed, total: ids.length });
    };
    const chunks = chunksOf(ids, this.options.prefillChunk);
    const single = chunks.at(-1)!.length === 1 ? chunks.pop()![0] : undefined; // decoded, in a shared step
    const last = single === undefined ? choice : undefined;
    const chosen = await this.batch.beside(() => this.fillAll(sequence, chunks, last, tell, signal));
    if (single === undefined) return chosen;
    const [token] = await this.decode({ sequence, token: single, choice, most: 1, stops: noStops, signal });
    tell(1);
    return token!;
  }

  /**
   * The n ≥ 1 tokens after `request.token`, in steps shared with concurrent requests. The sequence then holds all of
   * them but the last.
   */
  decode(request: DecodeRequest): Promise<readonly number[]> {
    return this.batch.next(request);
  }

  /** Appends and computes `tokens`. `take` reads the rows; the next step overwrites them. */
  compute<T>(
    sequence: KvSequence,
    tokens: readonly number[],
    head: Head,
    take: (rows: readonly RowOutput[]) => T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const compute = (start: number) => this.steps.run([{ sequence, start, tokens }], head, take, signal);
    return this.batch.beside(() => appending(sequence, tokens.length, compute));
  }

  /** Appends `ids` to `sequence` and gives the logits after each of them, [V] each. Rejects with BAD_LOGITS. */
  async logits(sequence: KvSequence, ids: readonly number[], signal?: AbortSignal): Promise<Float32Array[]> {
    const { model, prefillChunk } = this.options;
    const most = Math.max(1, Math.floor(logitsBytes / (4 * model.config.vocabulary)));
    const rows: Float32Array[] = [];
    const chunks = chunksOf(ids, Math.min(prefillChunk, most));
    const tasks = chunks.map((chunk) => () => this.logitsOf(sequence, chunk, signal));
    await this.batch.beside(async () => {
      for await (const some of inFlight(this.plansInFlight, tasks)) {
        await needFiniteLogits(some, rows.length);
        rows.push(...some);
      }
    });
    return rows;
  }

  dispose(): void {
    this.steps.dispose();
  }

  /** Steps submitted at once: max(plans that the devices keep in flight, parts of the model). */
  private get plansInFlight(): number {
    const { parts } = this.options.model;
    return Math.max(parts.length, ...parts.map(({ backend }) => backend.profile.plansInFlight ?? 1));
  }

  /** Computes chunks of a prompt in order. Returns the token that `choice` takes after the last chunk. */
  private async fillAll(
    sequence: KvSequence,
    chunks: readonly (readonly number[])[],
    choice: TokenChoice | undefined,
    tell: (tokens: number) => void,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const choiceOf = (i: number) => (i === chunks.length - 1 ? choice : undefined);
    const alone = chunks.length === 1 || this.plansInFlight === 1;
    const tasks = chunks.map((chunk, i) => () => this.fill(sequence, chunk, choiceOf(i), alone, signal));
    let [token, done] = [noToken, 0];
    for await (token of inFlight(this.plansInFlight, tasks)) tell(chunks[done++]!.length);
    return token;
  }

  /**
   * Computes the keys and values of tokens. Logits are computed only for a `choice`. `alone`: no other chunk of the
   * sequence is under way.
   */
  private fill(
    sequence: KvSequence,
    tokens: readonly number[],
    choice: TokenChoice | undefined,
    alone: boolean,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    const [head, of] = choice ? ([choice.head, 'last'] as const) : (['none', 'none'] as const);
    const take = (rows: readonly RowOutput[]) => choice?.take(rows[0]!) ?? noToken;
    return appending(sequence, tokens.length, (start) => {
      const chunk = { sequence, start, tokens };
      return alone
        ? this.steps.prompt(chunk, head, this.batch.busy, take, signal)
        : this.steps.once([chunk], head, of, take, signal);
    });
  }

  private logitsOf(
    sequence: KvSequence,
    tokens: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Float32Array[]> {
    const take = (rows: readonly RowOutput[]) => rows.map(({ logits }) => logits!.slice());
    return appending(sequence, tokens.length, (start) =>
      this.steps.once([{ sequence, start, tokens }], 'logits', 'all', take, signal),
    );
  }
}

/** Consecutive parts of `ids`: `size` tokens each, the last one perhaps shorter. */
const chunksOf = (ids: readonly number[], size: number): (readonly number[])[] =>
  Array.from({ length: Math.ceil(ids.length / size) }, (_, i) => ids.slice(i * size, (i + 1) * size));
