/** How near an op came to its tolerance in the case that came nearest. */
export interface Closeness {
  readonly op: string;
  /** The coarsest format among the operands: it decides the tolerance. */
  readonly format: string;
  /** Largest error as a share of what is allowed: 0 exact, 1 at the edge, above 1 wrong. Infinity where none is allowed. */
  readonly share: number;
  /** The case in which it was seen. */
  readonly case: string;
}

/** Keeps the largest share for each op and format. */
export class ClosenessLog {
  private readonly largest = new Map<string, Closeness>();

  note(seen: Closeness): void {
    const key = `${seen.op} ${seen.format}`;
    const known = this.largest.get(key);
    if (!known || seen.share > known.share) this.largest.set(key, seen);
  }

  get all(): readonly Closeness[] {
    return [...this.largest.values()];
  }
}

/** From here on a share is marked: another compiler or another machine may push it over. */
const near = 0.8;

const percent = ({ format, share }: Closeness): string =>
  `${format} ${Number.isFinite(share) ? Math.ceil(100 * share) : '∞'}${share >= near ? '!' : ''}`;

/** For people: a line per op, the one nearest to its tolerance first; ops that are exact in one line. */
export function formatCloseness(all: readonly Closeness[]): string[] {
  const byOp = new Map<string, Closeness[]>();
  for (const seen of all) byOp.set(seen.op, [...(byOp.get(seen.op) ?? []), seen]);
  const ops = [...byOp].map(([op, seen]) => ({
    op,
    seen: seen.sort((a, b) => b.share - a.share),
    worst: Math.max(...seen.map(({ share }) => share)),
  }));
  const inexact = ops.filter(({ worst }) => worst > 0).sort((a, b) => b.worst - a.worst);
  const exact = ops.filter(({ worst }) => worst === 0).map(({ op }) => op);
  if (ops.length === 0) return [];
  return [
    `largest error in percent of the tolerance (100: at its edge; !: ${100 * near} and more)`,
    ...inexact.map(({ op, seen }) => `  ${op.padEnd(18)} ${seen.map(percent).join('  ')}`),
    ...(exact.length > 0 ? [`  exact: ${exact.join(', ')}`] : []),
  ];
}
