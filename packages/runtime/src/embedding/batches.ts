/** Indices of the texts in one step. */
export type Batch = readonly number[];

/**
 * Groups texts of similar length into batches of ≤ `maxTokens` tokens; a longer text is a batch of its own. Every index
 * is in exactly one batch.
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
