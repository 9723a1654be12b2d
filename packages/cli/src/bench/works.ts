/** Timed work of a language model. */
export type LanguageWork =
  /** A prompt after `depth` cached tokens, up to the first generated token. */
  | { readonly kind: 'prefill'; readonly tokens: number; readonly depth: number }
  /** `tokens` generated tokens for each of `batch` concurrent sequences, after `depth` cached tokens. */
  | {
      readonly kind: 'decode';
      readonly tokens: number;
      readonly depth: number;
      readonly batch: number;
    };

/** One call with `batch` texts of `tokens` tokens each, start and end tokens included. */
export interface EmbedWork {
  readonly kind: 'embed';
  readonly tokens: number;
  readonly batch: number;
}

/** One audio window through the encoder; tokens: its positions, one per 20 ms. */
export interface HearWork {
  readonly kind: 'hear';
  readonly tokens: number;
}

/** `tokens` tokens decoded for an audio window. */
export interface WriteWork {
  readonly kind: 'write';
  readonly tokens: number;
}

/** The work of one table row. */
export type Work = LanguageWork | EmbedWork | HearWork | WriteWork;

export interface WorkFlags {
  readonly prompt: readonly number[];
  readonly gen: readonly number[];
  readonly depth: readonly number[];
  readonly batch: readonly number[];
}

/** Every prompt at every depth, then every answer at every depth in every batch size. */
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

/** Context tokens that a sequence needs: an answer has one prompt token, a prompt one generated token. */
export const contextOf = (works: readonly LanguageWork[]): number =>
  Math.max(...works.map(({ depth, tokens }) => depth + tokens + 1));

export function showWork(work: Work): string {
  const depth = 'depth' in work && work.depth > 0 ? ` at depth ${work.depth}` : '';
  const batch = batchOf(work) > 1 ? ` × ${batchOf(work)}` : '';
  return `${work.kind} ${work.tokens}${batch}${depth}`;
}
