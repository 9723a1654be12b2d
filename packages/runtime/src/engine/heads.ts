/**
 * Output of a step for each row with logits.
 * - 'none': nothing
 * - 'argmax': the likeliest token
 * - 'sampled': the token drawn by the device; the likeliest token for a row without draws
 * - 'masked': as 'sampled', among the tokens that each row's mask allows
 * - 'logits': all logits
 * - 'ranked': all logits, and the likeliest tokens in order; rows with any kind of choice can share the step
 */
export type Head = 'none' | 'argmax' | 'sampled' | 'masked' | 'logits' | 'ranked';

/** Whether the op `sample` draws the tokens of a head. */
export const drawsTokens = (head: Head): boolean => head === 'sampled' || head === 'masked';
