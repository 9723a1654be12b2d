import { addLogitBias, penalize } from './adjust.js';
import { certain, type Distribution, softmaxOf } from './distribution.js';
import { draw } from './draw.js';
import { SamplingError } from './error.js';
import { candidates, minPFilter } from './filter.js';
import { type ResolvedOptions, resolveOptions, type SamplingOptions } from './options.js';
import { Random } from './random.js';
import { RecentTokens } from './recent-tokens.js';
import { argmax } from './select.js';

/**
 * Chooses tokens from logits, in llama.cpp's order: logit bias, penalties, top-k, top-p, min-p, temperature, draw.
 * Call `accept` with every token of the sequence, the prompt's included, so that the penalties know them.
 */
export class Sampler {
  private readonly options: ResolvedOptions;
  private readonly random: Random;
  private readonly recent: RecentTokens;
  private scratch = new Float32Array(0);

  /** `vocabSize`: the number of logits, to check them and the logit bias against. @throws SamplingError BAD_OPTION */
  constructor(
    options: SamplingOptions = {},
    private readonly vocabSize?: number,
  ) {
    this.options = resolveOptions(options, vocabSize);
    this.random = new Random(this.options.seed);
    this.recent = new RecentTokens(this.options.penaltyWindow);
  }

  /** The seed in use: give it to another sampler to repeat what this one does. */
  get seed(): bigint {
    return this.options.seed;
  }

  /** The next token. `logits`: [vocabulary], left as they are. @throws SamplingError BAD_LOGITS */
  sample(logits: Float32Array): number {
    this.needVocabulary(logits);
    const { temperature, topK, topP, minP } = this.options;
    const adjusted = this.adjusted(logits, this.recent);
    if (temperature === 0) return argmax(adjusted);
    const tokens = minPFilter(adjusted, candidates(adjusted, topK, topP), minP);
    return draw(adjusted, tokens, temperature, this.random.nextDouble());
  }

  /**
   * What `sample` would draw from, had the tokens `ahead` been accepted too. `logits`: [vocabulary], left as they are.
   * @throws SamplingError BAD_LOGITS
   */
  distribution(logits: Float32Array, ahead: readonly number[] = []): Distribution {
    this.needVocabulary(logits);
    const { temperature, topK, topP, minP } = this.options;
    const adjusted = this.adjusted(logits, ahead.length > 0 ? this.recent.with(ahead) : this.recent);
    if (temperature === 0) return certain(argmax(adjusted));
    const tokens = minPFilter(adjusted, candidates(adjusted, topK, topP), minP);
    return softmaxOf(adjusted, tokens, temperature);
  }

  /** The next random number of the seed's, uniform in [0, 1). */
  nextRandom(): number {
    return this.random.nextDouble();
  }

  /** Tells the penalties that `token` is now part of the sequence. */
  accept(token: number): void {
    this.recent.accept(token);
  }

  private needVocabulary(logits: Float32Array): void {
    if (this.vocabSize === undefined || logits.length === this.vocabSize) return;
    throw new SamplingError(
      'BAD_LOGITS',
      `expected ${this.vocabSize} logits, one per token; got ${logits.length}`,
    );
  }

  private adjusted(logits: Float32Array, recent: RecentTokens): Float32Array {
    const { logitBias, repetitionPenalty, presencePenalty, frequencyPenalty } = this.options;
    const hasPenalty = repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0;
    if (!hasPenalty && logitBias.size === 0) return logits;
    if (this.scratch.length !== logits.length) this.scratch = new Float32Array(logits.length);
    this.scratch.set(logits);
    addLogitBias(this.scratch, logitBias);
    if (hasPenalty) penalize(this.scratch, recent.entries(), this.options);
    return this.scratch;
  }
}
