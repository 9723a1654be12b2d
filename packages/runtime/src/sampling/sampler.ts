import { checkArgument, rules, showValue } from '@quern/core';
import { type Adjustment, Adjustments } from './adjust.js';
import { acceptOrRedraw, certain, type Distribution, type Proposal, softmaxOf } from './distribution.js';
import { draw } from './draw.js';
import { type Draws, likeliest, needToken } from './draws.js';
import { badArgument, SamplingError } from './error.js';
import { candidates, logMinP, minPFilter } from './filter.js';
import { checkSampling, type ResolvedOptions, resolveOptions, type SamplingOptions } from './options.js';
import { Random } from './random.js';
import { rank, rankedCandidates } from './ranked.js';
import { RecentTokens } from './recent-tokens.js';
import { argmax } from './select.js';

/**
 * Chooses tokens from logits, in llama.cpp's order: logit bias, penalties, top-k, top-p, min-p, temperature, draw. Call
 * `accept` with every token of the sequence, the prompt's tokens included: penalties count them.
 */
export class Sampler {
  private readonly options: ResolvedOptions;
  private readonly random: Random;
  private readonly recent: RecentTokens;
  private readonly adjustments: Adjustments;

  /** @param vocabSize number of logits; used to check the logits and the logit bias @throws SamplingError BAD_OPTION */
  constructor(
    options: SamplingOptions = {},
    private readonly vocabSize?: number,
  ) {
    checkSampling('Sampler', options);
    if (vocabSize !== undefined)
      checkArgument('Sampler', 'vocabSize', vocabSize, rules.whole(1), badArgument);
    this.options = resolveOptions(options, vocabSize);
    this.random = new Random(this.options.seed);
    this.recent = new RecentTokens(this.options.penaltyWindow);
    this.adjustments = new Adjustments(this.options);
  }

  /** The seed in use. Another sampler with this seed repeats the same choices. */
  get seed(): bigint {
    return this.options.seed;
  }

  /**
   * The next token; the same with and without `best`. Where `best` suffices, not all logits are read, and a NaN among
   * the unread logits counts as -Infinity.
   *
   *
   * @param logits [vocabulary]; changed during the call, restored afterwards
   * @param best the likeliest tokens in order; of equal logits the lowest id first; NaN counts as -Infinity
   * @throws SamplingError BAD_LOGITS
   */
  sample(logits: Float32Array, best?: Int32Array): number {
    this.needVocabulary(logits);
    try {
      this.adjustments.apply(logits, this.recent);
      return this.choose(logits, best);
    } finally {
      this.adjustments.undo(logits);
    }
  }

  /**
   * The distribution of `sample`, as if the tokens `ahead` had been accepted too.
   * @param logits [vocabulary]; changed during the call, restored afterwards
   * @throws SamplingError BAD_LOGITS
   */
  distribution(logits: Float32Array, ahead: readonly number[] = []): Distribution {
    this.needVocabulary(logits);
    const { temperature, topK, topP, minP } = this.options;
    try {
      this.adjustments.apply(logits, ahead.length > 0 ? this.recent.with(ahead) : this.recent);
      if (temperature === 0) return certain(argmax(logits));
      const tokens = minPFilter(logits, candidates(logits, topK, topP), minP);
      return softmaxOf(logits, tokens, temperature);
    } finally {
      this.adjustments.undo(logits);
    }
  }

  /**
   * The proposed token or another one, distributed as the tokens of `sample`.
   * @param logits [vocabulary]; changed during the call, restored afterwards
   * @throws SamplingError BAD_LOGITS
   */
  check(logits: Float32Array, proposal: Proposal): number {
    return acceptOrRedraw(this.distribution(logits), proposal, () => this.nextRandom());
  }

  /**
   * Settings for a device that draws the same tokens from the same logits. The device's exp may differ in the last bit
   * of a double; the token then differs if its random number is that close to the boundary. The device first makes the
   * changes of `adjustment`.
   */
  get draws(): Draws {
    const { temperature, topK, topP, minP } = this.options;
    const { random } = this;
    return {
      settings: temperature === 0 ? likeliest : Float32Array.of(temperature, topK, topP, logMinP(minP)),
      peek: (words, at, count) => random.peek(words, at, count),
      take(token) {
        needToken(token);
        if (temperature > 0) random.nextDouble();
        return token;
      },
    };
  }

  /** Logit bias and penalties for a device, as of the tokens accepted so far; undefined: there are none. */
  get adjustment(): Adjustment | undefined {
    return this.adjustments.onDevice(this.recent);
  }

  /** The next random number, uniform in [0, 1). */
  nextRandom(): number {
    return this.random.nextDouble();
  }

  /** Adds `token` to the sequence that penalties count. */
  accept(token: number): void {
    if (!Number.isInteger(token)) checkArgument('accept', 'token', token, rules.whole(0), badArgument);
    this.recent.accept(token);
  }

  private choose(logits: Float32Array, best: Int32Array | undefined): number {
    const { temperature, topK, topP, minP } = this.options;
    const ranked = best && rank(logits, best, this.adjustments.originals);
    if (temperature === 0) return ranked?.tokens[0] ?? argmax(logits);
    const known = ranked && rankedCandidates(logits, ranked, this.options);
    const tokens = known ?? minPFilter(logits, candidates(logits, topK, topP), minP);
    return draw(logits, tokens, temperature, this.random.nextDouble());
  }

  private needVocabulary(logits: Float32Array): void {
    if (!(logits instanceof Float32Array))
      throw new SamplingError('BAD_LOGITS', `logits is ${showValue(logits)}; it must be a Float32Array`);
    if (this.vocabSize === undefined || logits.length === this.vocabSize) return;
    throw new SamplingError(
      'BAD_LOGITS',
      `expected ${this.vocabSize} logits, one per token; got ${logits.length}`,
    );
  }
}
