/** Largest error of an op as a share of its tolerance, over all cases. */
export interface Closeness {
  readonly op: string;
  /** The coarsest format among the operands; it decides the tolerance. */
  readonly format: string;
  /** Error / tolerance: 0 exact, 1 at the edge, above 1 wrong. Infinity for an error with tolerance 0. */
  readonly share: number;
  /** The case with this error. */
  readonly case: string;
}

/** Keeps the largest share per op and format. */
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

/** Shares from here on are marked: another compiler or machine may exceed the tolerance. */
const near = 0.8;

const percent = ({ format, share }: Closeness): string =>
  `${format} ${Number.isFinite(share) ? Math.ceil(100 * share) : '∞'}${share >= near ? '!' : ''}`;

/** For people: a line per op, nearest to its tolerance first; exact ops together in one line. */
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
