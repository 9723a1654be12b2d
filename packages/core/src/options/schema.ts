import { nearestName } from './nearest-name.js';
import { isObject, type Rule } from './rule.js';
import { showValue } from './show-value.js';

/** One option: its rule, its purpose, its default. */
export interface Option<T = unknown> extends Rule<T> {
  /** A line for help and reference, without a full stop. */
  readonly about: string;
  /** The value of an absent option. */
  readonly byDefault?: T;
  /** The default in words, if no single value stands for it. */
  readonly absent?: string;
  /** It may not be absent. */
  readonly required?: true;
}

export type AnySchema = Readonly<Record<string, Option>>;

/**
 * All options of an interface: `const schema = {…} satisfies Schema<MyOptions>` compiles only with exactly its names.
 * Optional options must accept undefined (`name?: T | undefined`), so that callers can pass their own options on.
 */
export type Schema<T extends object> = {
  readonly [K in keyof Required<T>]: object extends Pick<T, K>
    ? undefined extends Required<T>[K]
      ? Option<Exclude<T[K], undefined>>
      : 'its type must be T | undefined'
    : Option<T[K]> & { readonly required: true };
};

/** `T` with undefined removed from every property. */
export type Defined<T extends object> = { [K in keyof T]-?: Exclude<T[K], undefined> };

type Defaulted<S> = { [K in keyof S]: S[K] extends { readonly byDefault: unknown } ? K : never }[keyof S];

/** `T` with the default values of a schema. */
export type WithDefaults<T extends object, S> = Defined<Pick<T, keyof T & Defaulted<S>>> &
  Omit<T, Defaulted<S>>;

/** Makes the error for a refused option or argument. */
export type Refuse = (message: string, name: string) => Error;

/**
 * Checks options against their schema: every name is known, every value fits its rule. Undefined counts as absent.
 * @param where the call, for messages: 'generate'
 * @param within the option that contains these options, for messages: 'speculate'
 * @throws the error made by `refuse`
 */
export function checkOptions(
  where: string,
  options: unknown,
  schema: AnySchema,
  refuse: Refuse,
  within?: string,
): void {
  if (!isObject(options) || Array.isArray(options))
    throw refuse(
      `[${where}] ${within ?? 'options'} is ${showValue(options)}; it must be an object`,
      'options',
    );
  const full = (name: string) => (within === undefined ? name : `${within}.${name}`);
  for (const name in options) {
    if (!Object.hasOwn(schema, name)) throw refuse(`[${where}] ${unknown(full(name), name, schema)}`, name);
    if (options[name] !== undefined) checkArgument(where, full(name), options[name], schema[name]!, refuse);
  }
  for (const name in schema)
    if (schema[name]!.required && options[name] === undefined)
      throw refuse(`[${where}] the option ${full(name)} is missing; it must be ${schema[name]!.must}`, name);
}

function unknown(shown: string, name: string, schema: AnySchema): string {
  const names = Object.keys(schema);
  const nearest = nearestName(name, names);
  const advice = nearest ? `did you mean '${nearest}'?` : `there are ${names.join(', ') || 'none'}`;
  return `there is no option '${shown}': ${advice}`;
}

/** Checks one argument against its rule. @throws the error made by `refuse` */
export function checkArgument<T>(
  where: string,
  name: string,
  value: unknown,
  { holds, must }: Rule<T>,
  refuse: Refuse,
): asserts value is T {
  if (!holds(value)) throw refuse(`[${where}] ${name} is ${showValue(value)}; it must be ${must}`, name);
}

/** The named properties of an object, if present: options for a callee that knows no others, or a part of a schema. */
export function pickOptions<T extends object, K extends keyof T>(
  options: T,
  names: readonly K[],
): Pick<T, K> {
  return Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  ) as Pick<T, K>;
}

/** Checked options, with the schema's default for every absent option. */
export function withDefaults<T extends object, S extends AnySchema>(
  options: T,
  schema: S,
): WithDefaults<T, S> {
  const defaults = Object.entries(schema).flatMap(([name, { byDefault }]) =>
    byDefault === undefined ? [] : [[name, byDefault]],
  );
  const given = pickOptions(options, Object.keys(options) as (keyof T)[]);
  return { ...Object.fromEntries(defaults), ...given };
}
