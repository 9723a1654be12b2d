/** Rewrites a text before it is split. */
export type Normalizer = (text: string) => string;
