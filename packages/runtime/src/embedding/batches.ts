/** Indices of texts that are computed in one step. */
export type Batch = readonly number[];

/**
 * Divides texts into batches of at most `maxTokens` tokens, a longer text alone; texts of like length come together, so that
 * a batch is as full as can be. Every index is in one batch.
 */
export function batchesByLength(lengths: readonly number[], maxTokens: number): Batch[] {
  const order = Array.from(lengths.keys()).sort((a, b) => lengths[b]! - lengths[a]!);
  const batches: number[][] = [];
  let [batch, tokens]: [number[], number] = [[], 0];
  for (const index of order) {
    if (batch.length > 0 && tokens + lengths[index]! > maxTokens) {
      batches.push(batch);
      [batch, tokens] = [[], 0];
    }
    batch.push(index);
    tokens += lengths[index]!;
  }
  return batch.length > 0 ? [...batches, batch] : batches;
}
