import { addLogitBias, penalize } from './adjust.js';
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
    if (this.vocabSize !== undefined && logits.length !== this.vocabSize) {
      throw new SamplingError(
        'BAD_LOGITS',
        `expected ${this.vocabSize} logits, one per token; got ${logits.length}`,
      );
    }
    const { temperature, topK, topP, minP } = this.options;
    const adjusted = this.adjusted(logits);
    if (temperature === 0) return argmax(adjusted);
    const tokens = minPFilter(adjusted, candidates(adjusted, topK, topP), minP);
    return draw(adjusted, tokens, temperature, this.random.nextDouble());
  }

  /** Tells the penalties that `token` is now part of the sequence. */
  accept(token: number): void {
    this.recent.accept(token);
  }

  private adjusted(logits: Float32Array): Float32Array {
    const { logitBias, repetitionPenalty, presencePenalty, frequencyPenalty } = this.options;
    const hasPenalty = repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0;
    if (!hasPenalty && logitBias.size === 0) return logits;
    if (this.scratch.length !== logits.length) this.scratch = new Float32Array(logits.length);
    this.scratch.set(logits);
    addLogitBias(this.scratch, logitBias);
    if (hasPenalty) penalize(this.scratch, this.recent.entries(), this.options);
    return this.scratch;
  }
}
