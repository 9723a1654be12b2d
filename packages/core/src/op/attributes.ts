import { BackendError } from '../error.js';

interface Rules {
  readonly name: string;
  readonly attributes: Readonly<Record<string, 'f32' | 'i32'>>;
}

/** The attributes that a plan carries: f32 in 32 bits, absent ones as 0. A definition and a kernel compute with these. */
export function plannedAttributes(
  { attributes: rules }: Rules,
  given: Readonly<Record<string, number>>,
): Record<string, number> {
  const planned: Record<string, number> = {};
  for (const name in rules) {
    const value = given[name] ?? 0;
    planned[name] = rules[name] === 'f32' ? Math.fround(value) : value;
  }
  return planned;
}

/** Throws BAD_ARGUMENT for an i32 attribute that is no whole number of 32 bits. */
export function needWholeAttributes(
  { name: op, attributes: rules }: Rules,
  given: Readonly<Record<string, number>>,
): void {
  for (const name in rules)
    if (rules[name] === 'i32' && (given[name]! | 0) !== given[name])
      throw new BackendError(
        'BAD_ARGUMENT',
        `[${op}] ${name} must be a whole number of 32 bits; got ${given[name]}`,
      );
}
