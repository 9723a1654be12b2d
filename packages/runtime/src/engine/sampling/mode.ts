import type { SamplingParams } from './params.js';
import { greedy } from './params.js';

/** What a step does with the logits of each row, and what the host receives. */
export interface SamplingMode {
  /**
   * - 'none': nothing
   * - 'argmax': the likeliest token
   * - 'drawn': the token that the device draws; the likeliest token for a row without `sampling`
   * - 'logits': all logits
   * - 'ranked': all logits, and the likeliest tokens in order: the host chooses, for rows of any kind
   */
  readonly kind: 'none' | 'argmax' | 'drawn' | 'logits' | 'ranked';
  /** Of 'drawn': whether each row has a logit bias. */
  readonly biases: boolean;
  /** Of 'drawn': most earlier tokens that penalties of a row count; 0: no penalties. */
  readonly recent: number;
  /** Of 'drawn': whether each row has a mask. */
  readonly masks: boolean;
  /** Of 'drawn': whether log-probabilities of the token and of the likeliest ones are found. */
  readonly logprobs: boolean;
}

/** A mode that changes no logits. */
export const plainMode = (kind: SamplingMode['kind'], logprobs = false): SamplingMode => ({
  ...{ kind, biases: false, recent: 0, masks: false, logprobs },
});

/** Equal for modes with the same recorded ops. */
export const modeKey = ({ kind, biases, recent, masks, logprobs }: SamplingMode): string =>
  kind === 'drawn' ? `drawn ${biases} ${recent} ${masks} ${logprobs}` : kind;

/** Whether the tokens of a step can be the ids of the next one: the host gives the draw no other input. */
export const canFeed = ({ kind, biases, recent, masks, logprobs }: SamplingMode): boolean =>
  kind === 'argmax' || (kind === 'drawn' && !biases && recent === 0 && !masks && !logprobs);

/** Values of `recent`: steps with the same value share a captured step. */
const recentSizes = [16, 64, 256, 1024, 4096] as const;

/** Most of the likeliest tokens whose log-probabilities the device finds: what OpenAI's API offers. */
export const maxTopLogprobs = 20;

/** What the mode of a step depends on. */
interface SamplingRequest {
  readonly wanted: {
    readonly sampling: SamplingParams | undefined;
    readonly proposals?: readonly unknown[] | undefined;
  };
  /** Number of rows with outputs. */
  readonly outputs: number;
}

/** The mode with the least output that gives each of these requests its tokens. */
export function modeOf(requests: readonly SamplingRequest[], canDraw: boolean): SamplingMode {
  const choosing = requests.filter(({ wanted }) => wanted.sampling);
  const all = choosing.map(({ wanted }) => wanted.sampling!);
  if (all.length === 0) return plainMode('none');
  if (all.every(isArgmax)) return plainMode('argmax');
  const recent = Math.max(0, ...choosing.map(recentOf));
  const logprobs = Math.max(...all.map((each) => each.logprobs ?? -1));
  const needsLogits = choosing.some(({ wanted }) => wanted.proposals || wanted.sampling!.distributions);
  const size = recentSizes.find((each) => each >= recent);
  if (!canDraw || needsLogits || size === undefined || logprobs > maxTopLogprobs) return plainMode('ranked');
  const biases = all.some(({ logitBias }) => logitBias.size > 0);
  const adjusts = biases || recent > 0;
  const masks = adjusts || all.some(({ constraint }) => constraint); // few combinations: few captured steps
  return { kind: 'drawn', biases, recent: adjusts ? size : 0, masks, logprobs: logprobs >= 0 };
}

const isArgmax = ({ settings, constraint, logprobs, distributions }: SamplingParams): boolean =>
  settings === greedy && !constraint && logprobs === undefined && !distributions;

/** Most earlier tokens that penalties of its rows count: the drafts too. */
const recentOf = ({ wanted, outputs }: SamplingRequest): number => {
  const { recent } = wanted.sampling!;
  return recent ? recent.length + outputs - 1 : 0;
};
