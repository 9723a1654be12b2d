import { ModelError } from '../error.js';

/**
 * Unchecked settings of a model file: GGUF metadata or a config.json. Every reader returns a value of its type or
 * throws ModelError BAD_CONFIG with the key, the value and the expected type. null counts as absent.
 */
export class Settings {
  constructor(
    /** The file, for messages. */
    readonly path: string,
    private readonly lookUp: (key: string) => unknown,
    /** Prefix of every key in the file: `llama.` in GGUF, `rope_scaling.` in a nested object. */
    private readonly prefix = '',
    private readonly keys: () => readonly string[] = () => [],
  ) {}

  has(key: string): boolean {
    return this.value(key) !== undefined;
  }

  /** The key is present with value null, for the few settings where null and absent differ. */
  isNull(key: string): boolean {
    return this.lookUp(key) === null;
  }

  /** A whole number from `least` to `most`. A list with equal entries (one per layer) counts as the number. */
  whole(key: string, most: number, fallback?: number, least = 1): number {
    const value = uniform(this.value(key)) ?? fallback;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    return this.fail(key, `a whole number from ${least} to ${most}`);
  }

  /** The key holds a list. */
  isList(key: string): boolean {
    return Array.isArray(this.value(key));
  }

  /** A list of whole numbers from `least` to `most`. Arguments as `whole`; absent without a fallback: undefined. */
  wholes(key: string, most: number, fallback: readonly number[], least?: number): readonly number[];
  wholes(key: string, most: number, fallback?: undefined, least?: number): readonly number[] | undefined;
  wholes(key: string, most: number, fallback?: readonly number[], least = 1): readonly number[] | undefined {
    const value = listOf(this.value(key) ?? fallback);
    if (value === undefined) return undefined;
    const inRange = (item: unknown) =>
      Number.isInteger(item) && Number(item) >= least && Number(item) <= most;
    if (Array.isArray(value) && value.every(inRange)) return value;
    return this.fail(key, `whole numbers from ${least} to ${most}`);
  }

  /** A finite number above 0. */
  positive(key: string, fallback?: number): number {
    const value = this.value(key) ?? fallback;
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
    return this.fail(key, 'a number above 0');
  }

  /** A finite number. */
  number(key: string, fallback?: number): number {
    const value = this.value(key) ?? fallback;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    return this.fail(key, 'a finite number');
  }

  /** true or false; undefined: absent. */
  flag(key: string): boolean | undefined {
    const value = this.value(key);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.fail(key, 'true or false');
  }

  /** A list of booleans; undefined: absent. */
  flags(key: string): readonly boolean[] | undefined {
    const value = this.value(key);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === 'boolean')) return value;
    return this.fail(key, 'a list of true and false');
  }

  /** A list of `count` finite numbers above 0. */
  positives(key: string, count: number): readonly number[] {
    const value = listOf(this.value(key));
    const isPositive = (item: unknown) => typeof item === 'number' && Number.isFinite(item) && item > 0;
    if (Array.isArray(value) && value.length === count && value.every(isPositive)) return value;
    return this.fail(key, `${count} numbers above 0`);
  }

  text(key: string, fallback?: string): string {
    const value = this.value(key) ?? fallback;
    if (typeof value === 'string') return value;
    return this.fail(key, 'a string');
  }

  /** A list of strings; undefined: absent. */
  texts(key: string): readonly string[] | undefined {
    const value = this.value(key);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
    return this.fail(key, 'a list of strings');
  }

  /** All keys of a nested object with string values. */
  strings(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.keys().map((key) => [key, this.text(key)]));
  }

  /** All keys of a nested object with numbers above 0. */
  numbers(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.keys().map((key) => [key, this.positive(key)]));
  }

  /** The value as it is, for checks of its kind; undefined: absent. */
  raw(key: string): unknown {
    return this.value(key);
  }

  /** A nested object; undefined: absent. */
  section(key: string): Settings | undefined {
    const value = this.value(key);
    if (value === undefined) return undefined;
    if (typeof value !== 'object' || Array.isArray(value)) return this.fail(key, 'an object');
    return new Settings(this.path, ownValue(value as object), `${this.prefix}${key}.`, () =>
      Object.keys(value as object),
    );
  }

  /** The same settings; absent keys take `defaults`. */
  withDefaults(defaults: Readonly<Record<string, unknown>>): Settings {
    const own = ownValue(defaults);
    const lookUp = (key: string) => {
      const value = this.lookUp(key);
      return value === undefined ? own(key) : value;
    };
    return new Settings(this.path, lookUp, this.prefix, this.keys);
  }

  /** The same settings, but with `values` for their keys: for files with names of their own. */
  replacing(values: Readonly<Record<string, unknown>>): Settings {
    const own = ownValue(values);
    const lookUp = (key: string) => (Object.hasOwn(values, key) ? own(key) : this.lookUp(key));
    return new Settings(this.path, lookUp, this.prefix, this.keys);
  }

  /** Throws BAD_CONFIG for the key. */
  fail(key: string, expected: string): never {
    throw new ModelError('BAD_CONFIG', `${this.describe(key)}; expected ${expected}`);
  }

  /** Throws UNSUPPORTED_CONFIG for the key; `why` ends the sentence. */
  refuse(key: string, why: string): never {
    throw new ModelError('UNSUPPORTED_CONFIG', `${this.describe(key)}: ${why}`);
  }

  private value(key: string): unknown {
    return this.lookUp(key) ?? undefined;
  }

  private describe(key: string): string {
    const value = this.value(key);
    return `${this.path}: ${this.prefix}${key} is ${value === undefined ? 'missing' : show(value)}`;
  }
}

/** Looks up own keys of a parsed JSON object (no inherited ones). */
export const ownValue =
  (object: object) =>
  (key: string): unknown =>
    Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;

/** Lists of numbers in GGUF files are typed arrays: as a list; any other value unchanged. */
const listOf = (value: unknown): unknown =>
  ArrayBuffer.isView(value) && 'length' in value
    ? Array.from(value as ArrayLike<unknown> & ArrayBufferView)
    : value;

/** A list of equal items → the item; any other value unchanged. */
function uniform(value: unknown): unknown {
  const items = listOf(value);
  if (!Array.isArray(items)) return value;
  return items.length > 0 && items.every((item) => item === items[0]) ? items[0] : value;
}

const longest = 60;

function show(value: unknown): string {
  const text =
    typeof value === 'bigint' ? `${value}` : ArrayBuffer.isView(value) ? `[${value}]` : JSON.stringify(value);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
