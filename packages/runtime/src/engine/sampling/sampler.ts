import { checkArgument, type Refuse, rules, showValue } from '@quern/core';
import type { Distribution } from './distribution.js';
import { SamplingError, type SamplingOptions } from './options.js';
import { acceptToken, type SamplingParams, samplingParams } from './params.js';
import { distributionOf, sampleLogits } from './pipeline.js';

const badArgument: Refuse = (message) => new SamplingError('BAD_ARGUMENT', message);

/**
 * Chooses tokens from logits, in llama.cpp's order: logit bias, penalties, top-k, top-p, min-p, temperature, draw. Call
 * `accept` with every token of the sequence, the prompt's tokens included: penalties count them.
 */
export class Sampler {
  private readonly params: SamplingParams;

  /** @param vocabSize number of logits; used to check the logits and the logit bias @throws SamplingError BAD_OPTION */
  constructor(
    options: SamplingOptions = {},
    private readonly vocabSize?: number,
  ) {
    if (vocabSize !== undefined)
      checkArgument('Sampler', 'vocabSize', vocabSize, rules.whole(1), badArgument);
    this.params = samplingParams(options, vocabSize);
  }

  /** The seed in use. Another sampler with this seed repeats the same choices. */
  get seed(): bigint {
    return this.params.seed;
  }

  /**
   * The next token; the same with and without `best`. Where `best` suffices, not all logits are read, and a NaN among
   * the unread logits counts as -Infinity.
   *
   * @param logits [vocabulary]; changed during the call, restored afterwards
   * @param best the likeliest tokens in order; of equal logits the lowest id first; NaN counts as -Infinity
   * @throws SamplingError BAD_LOGITS
   */
  sample(logits: Float32Array, best?: Int32Array): number {
    this.assertVocabulary(logits);
    return sampleLogits(this.params, logits, { best });
  }

  /**
   * The distribution of `sample`, as if the tokens `ahead` had been accepted too.
   * @param logits [vocabulary]; changed during the call, restored afterwards
   * @throws SamplingError BAD_LOGITS
   */
  distribution(logits: Float32Array, ahead: readonly number[] = []): Distribution {
    this.assertVocabulary(logits);
    return distributionOf(this.params, logits, { recent: this.params.recent?.with(ahead) });
  }

  /** Adds `token` to the sequence that penalties count. */
  accept(token: number): void {
    if (!Number.isInteger(token)) checkArgument('accept', 'token', token, rules.whole(0), badArgument);
    acceptToken(this.params, token);
  }

  private assertVocabulary(logits: Float32Array): void {
    if (!(logits instanceof Float32Array))
      throw new SamplingError('BAD_LOGITS', `logits is ${showValue(logits)}; it must be a Float32Array`);
    if (this.vocabSize === undefined || logits.length === this.vocabSize) return;
    throw new SamplingError(
      'BAD_LOGITS',
      `expected ${this.vocabSize} logits, one per token; got ${logits.length}`,
    );
  }
}
