import type { AnyOp, Numbers, Tolerance } from '@quern/core';
import type { Operands } from './numbers.js';

/** From fine to coarse; any other format counts as 'quantised'. */
const fineness = ['f32', 'f16', 'bf16', 'quantised'];

const rank = (format: string): number => {
  const known = fineness.indexOf(format);
  return known < 0 ? fineness.length - 1 : known;
};

const coarsestRank = (operands: Operands): number => {
  const floats = Object.values(operands).filter(({ format }) => format !== 'i32');
  return Math.max(0, ...floats.map(({ format }) => rank(format)));
};

/** Whether any operand is in a quantised format. */
export const isQuantised = (operands: Operands): boolean => coarsestRank(operands) === fineness.length - 1;

/** The op's tolerance for the coarsest format among the operands, or the next finer one that it states. */
export function toleranceOf(op: AnyOp, operands: Operands): Tolerance {
  for (let i = coarsestRank(operands); i >= 0; i--) {
    const tolerance = op.tolerance[fineness[i]!];
    if (tolerance) return tolerance;
  }
  throw new Error(`the op table states no tolerance for '${op.name}'`);
}

/** NaN matches NaN, an infinity itself, −0 zero; the rest within `allowed`. */
function matches(got: number, want: number, allowed: number): boolean {
  if (Number.isNaN(want)) return Number.isNaN(got);
  return got === want || Math.abs(got - want) <= allowed;
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

/** Throws at the first element that is too far off, with how many there are. */
export function compare(
  label: string,
  got: Numbers,
  want: Numbers,
  allowed: (index: number, want: number) => number,
): void {
  if (got.data.length !== want.data.length)
    throw new Error(`${label} has ${got.data.length} elements; expected ${want.data.length}`);
  let [wrong, first] = [0, -1];
  for (let i = 0; i < want.data.length; i++) {
    if (matches(got.data[i]!, want.data[i]!, allowed(i, want.data[i]!))) continue;
    if (wrong++ === 0) first = i;
  }
  if (wrong === 0) return;
  throw new Error(
    `${label}${place(first, want.shape)} is ${got.data[first]}; expected ${want.data[first]} ± ${allowed(first, want.data[first]!)} ` +
      `(${wrong} of ${want.data.length} elements differ)`,
  );
}

export const exact = (): number => 0;
