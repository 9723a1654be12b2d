/** Number of requests by what became of them. */
type Ends = Readonly<Record<string, number>>;

export interface SoakOptions {
  readonly ms: number;
  readonly least?: number;
  readonly clients?: number;
  readonly disconnect?: number;
  readonly malformed?: number;
  readonly every?: number;
  readonly patience?: number;
  readonly onTurn?: (ends: Ends) => void;
}

export function soak(
  url: string,
  options: SoakOptions,
): Promise<{
  readonly ends: Ends;
  readonly kinds: Readonly<Record<string, Ends>>;
  readonly hanging: number;
}>;
