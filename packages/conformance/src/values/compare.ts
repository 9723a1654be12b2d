import type { AnyOp, Numbers, Tolerance } from '@quern/core';
import type { Operands } from './numbers.js';

/** From fine to coarse; all other formats count as 'quantised'. */
const fineness = ['f32', 'f16', 'bf16', 'quantised'];

const rank = (format: string): number => {
  const known = fineness.indexOf(format);
  return known < 0 ? fineness.length - 1 : known;
};

/** The coarsest format among the operands; it decides the tolerance. */
export function coarsestFormat(operands: Operands): string {
  const formats = Object.values(operands).flatMap(({ format }) => (format === 'i32' ? [] : [format]));
  return formats.reduce((coarsest, format) => (rank(format) > rank(coarsest) ? format : coarsest), 'f32');
}

const coarsestRank = (operands: Operands): number => rank(coarsestFormat(operands));

/** Whether any operand is in a quantised format. */
export const isQuantised = (operands: Operands): boolean => coarsestRank(operands) === fineness.length - 1;

/** The op's tolerance for the coarsest format among the operands, or for the next finer format in the table. */
export function toleranceOf(op: AnyOp, operands: Operands): Tolerance {
  for (let i = coarsestRank(operands); i >= 0; i--) {
    const tolerance = op.tolerance[fineness[i]!];
    if (tolerance) return tolerance;
  }
  throw new Error(`the op table states no tolerance for '${op.name}'`);
}

function place(index: number, shape: readonly number[]): string {
  const indices: number[] = [];
  let rest = index;
  for (const d of [...shape].reverse()) {
    indices.unshift(rest % d);
    rest = Math.floor(rest / d);
  }
  return `[${indices.join(', ')}]`;
}

/** The error as a share of the tolerance. NaN equals NaN, an infinity itself, −0 zero. */
function shareOf(got: number, want: number, allowed: number): number {
  if (got === want || (Number.isNaN(want) && Number.isNaN(got))) return 0;
  const share = Math.abs(got - want) / allowed;
  return Number.isNaN(share) ? Number.POSITIVE_INFINITY : share;
}

/** Throws at the first wrong element, with the number of wrong elements. First passes the largest share to `note`. */
export function compare(
  label: string,
  got: Numbers,
  want: Numbers,
  allowed: (index: number, want: number) => number,
  note?: (share: number) => void,
): void {
  if (got.data.length !== want.data.length)
    throw new Error(`${label} has ${got.data.length} elements; expected ${want.data.length}`);
  let [wrong, first, largest] = [0, -1, 0];
  for (let i = 0; i < want.data.length; i++) {
    const share = shareOf(got.data[i]!, want.data[i]!, allowed(i, want.data[i]!));
    if (share > largest) largest = share;
    if (share > 1 && wrong++ === 0) first = i;
  }
  note?.(largest);
  if (wrong === 0) return;
  throw new Error(
    `${label}${place(first, want.shape)} is ${got.data[first]}; expected ${want.data[first]} ± ${allowed(first, want.data[first]!)} ` +
      `(${wrong} of ${want.data.length} elements differ)`,
  );
}

export const exact = (): number => 0;
