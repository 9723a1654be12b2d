/** What is timed of a language model. */
export type LanguageWork =
  /** A prompt after `depth` tokens that are in the cache, up to its first token of answer. */
  | { readonly kind: 'prefill'; readonly tokens: number; readonly depth: number }
  /** `tokens` tokens of answer for each of `batch` sequences at once, after `depth` tokens that are in the cache. */
  | {
      readonly kind: 'decode';
      readonly tokens: number;
      readonly depth: number;
      readonly batch: number;
    };

/** `batch` texts of `tokens` tokens each, start and end included, embedded at once. */
export interface EmbedWork {
  readonly kind: 'embed';
  readonly tokens: number;
  readonly batch: number;
}

/** One window of sound through the encoder: tokens are its positions, one every 20 ms. */
export interface HearWork {
  readonly kind: 'hear';
  readonly tokens: number;
}

/** `tokens` tokens written about a window of sound, one after the other. */
export interface WriteWork {
  readonly kind: 'write';
  readonly tokens: number;
}

/** What one row of the table times. */
export type Work = LanguageWork | EmbedWork | HearWork | WriteWork;

export interface WorkFlags {
  readonly prompt: readonly number[];
  readonly gen: readonly number[];
  readonly depth: readonly number[];
  readonly batch: readonly number[];
}

/** Every prompt at every depth, then every answer at every depth in every batch. */
export function worksOf({ prompt, gen, depth, batch }: WorkFlags): LanguageWork[] {
  const prefills = depth.flatMap((d) =>
    prompt.map((tokens): LanguageWork => ({ kind: 'prefill', tokens, depth: d })),
  );
  const decodes = depth.flatMap((d) =>
    batch.flatMap((b) => gen.map((tokens): LanguageWork => ({ kind: 'decode', tokens, depth: d, batch: b }))),
  );
  return [...prefills, ...decodes];
}

export const batchOf = (work: Work): number => ('batch' in work ? work.batch : 1);

/** Tokens of context that a sequence needs: one of the prompt comes with every answer, one of answer with every prompt. */
export const contextOf = (works: readonly LanguageWork[]): number =>
  Math.max(...works.map(({ depth, tokens }) => depth + tokens + 1));

export function showWork(work: Work): string {
  const depth = 'depth' in work && work.depth > 0 ? ` at depth ${work.depth}` : '';
  const batch = batchOf(work) > 1 ? ` × ${batchOf(work)}` : '';
  return `${work.kind} ${work.tokens}${batch}${depth}`;
}
