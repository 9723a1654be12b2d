/** What one row of the table times. */
export type Work =
  /** A prompt after `depth` tokens that are in the cache, up to its first token of answer. */
  | { readonly kind: 'prefill'; readonly tokens: number; readonly depth: number }
  /** `tokens` tokens of answer for each of `batch` sequences at once, after `depth` tokens that are in the cache. */
  | {
      readonly kind: 'decode';
      readonly tokens: number;
      readonly depth: number;
      readonly batch: number;
    };

export interface WorkFlags {
  readonly prompt: readonly number[];
  readonly gen: readonly number[];
  readonly depth: readonly number[];
  readonly batch: readonly number[];
}

/** Every prompt at every depth, then every answer at every depth in every batch. */
export function worksOf({ prompt, gen, depth, batch }: WorkFlags): Work[] {
  const prefills = depth.flatMap((d) =>
    prompt.map((tokens): Work => ({ kind: 'prefill', tokens, depth: d })),
  );
  const decodes = depth.flatMap((d) =>
    batch.flatMap((b) => gen.map((tokens): Work => ({ kind: 'decode', tokens, depth: d, batch: b }))),
  );
  return [...prefills, ...decodes];
}

export const batchOf = (work: Work): number => (work.kind === 'decode' ? work.batch : 1);

/** Tokens of context that a sequence needs: one of the prompt comes with every answer, one of answer with every prompt. */
export const contextOf = (works: readonly Work[]): number =>
  Math.max(...works.map(({ depth, tokens }) => depth + tokens + 1));

export function showWork(work: Work): string {
  const depth = work.depth > 0 ? ` at depth ${work.depth}` : '';
  const batch = batchOf(work) > 1 ? ` × ${batchOf(work)}` : '';
  return `${work.kind} ${work.tokens}${batch}${depth}`;
}
