/**
 * Output of a step for each row with logits.
 * - 'none': nothing
 * - 'argmax': the likeliest token
 * - 'sampled': the token drawn by the device; the likeliest token for a row without draws
 * - 'masked': as 'sampled', among the tokens that each row's mask allows
 * - 'penalised L': as 'masked', after penalties for up to L earlier tokens of each row
 * - 'biased L': as 'penalised L', after each row's logit bias
 * - 'sampled noted' and so on: as without 'noted', and log-probabilities of the token and of the likeliest ones
 * - 'logits': all logits
 * - 'ranked': all logits, and the likeliest tokens in order; rows with any kind of choice can share the step
 */
export type Head = 'none' | 'argmax' | DrawnHead | 'logits' | 'ranked';

/** Heads with the op `sample`. */
export type DrawnHead = PlainDrawnHead | `${PlainDrawnHead} noted`;
type PlainDrawnHead = 'sampled' | 'masked' | AdjustedHead;
/** Heads that change logits first. */
type AdjustedHead = `penalised ${number}` | `biased ${number}`;

/** What a head does before it draws. */
export interface HeadParts {
  /** Whether the op `sample` draws the tokens. */
  readonly draws: boolean;
  readonly masks: boolean;
  readonly biases: boolean;
  /** L; 0: no penalties. */
  readonly recent: number;
  /** Whether log-probabilities are found. */
  readonly notes: boolean;
}

export function partsOf(head: Head): HeadParts {
  const [name, ...settings] = head.split(' ');
  const recent = Number(settings.find((setting) => setting !== 'noted') ?? 0);
  const biases = name === 'biased';
  const penalises = biases || name === 'penalised';
  const masks = penalises || name === 'masked';
  return { draws: masks || name === 'sampled', masks, biases, recent, notes: settings.includes('noted') };
}

/** Sizes of L: steps with the same size share a captured step. */
const recentSizes = [16, 64, 256, 1024, 4096] as const;

/** Most earlier tokens that the device penalises; for more, JavaScript does. */
export const mostRecent = recentSizes.at(-1)!;

/** The head for rows with up to `recent` earlier tokens. */
export const adjustedHead = (biases: boolean, recent: number): AdjustedHead => {
  const size = recentSizes.find((each) => each >= recent)!;
  return biases ? `biased ${size}` : `penalised ${size}`;
};
