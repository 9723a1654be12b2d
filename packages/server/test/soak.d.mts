export interface SoakOptions {
  readonly ms: number;
  readonly clients?: number;
  readonly disconnect?: number;
  readonly malformed?: number;
  readonly every?: number;
  readonly onTurn?: (ends: Readonly<Record<string, number>>) => void;
}

export function soak(
  url: string,
  options: SoakOptions,
): Promise<{ readonly ends: Readonly<Record<string, number>>; readonly hanging: number }>;
