import { badVocabulary, TokenizerError } from '../error.js';

/** Any object of a JSON file. */
export type Json = Readonly<Record<string, unknown>>;

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Most levels of nested steps; real files have two or three. */
const DEEPEST = 16;

/** An object of a tokenizer.json. A value of a wrong type throws BAD_VOCABULARY. */
export class Fields {
  constructor(
    readonly json: Json,
    /** Location in the file: "pre_tokenizer.pretokenizers[1]". */
    readonly where: string,
    readonly depth = 0,
  ) {}

  get type(): string {
    return this.string('type');
  }

  string(key: string, otherwise?: string): string {
    return this.read(key, 'a string', (value) => (typeof value === 'string' ? value : undefined), otherwise);
  }

  boolean(key: string, otherwise: boolean): boolean {
    const parse = (value: unknown) => (typeof value === 'boolean' ? value : undefined);
    return this.read(key, 'true or false', parse, otherwise);
  }

  /** A whole number ≥ 0. */
  count(key: string, otherwise?: number): number {
    const parse = (value: unknown) =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
    return this.read(key, 'a whole number from 0', parse, otherwise);
  }

  oneOf<T extends string>(key: string, values: readonly T[], otherwise?: T): T {
    const parse = (value: unknown) => values.find((each) => each === value);
    return this.read(key, `one of ${values.join(', ')}`, parse, otherwise);
  }

  list(key: string, otherwise?: readonly unknown[]): readonly unknown[] {
    return this.read(key, 'a list', (value) => (Array.isArray(value) ? value : undefined), otherwise);
  }

  object(key: string): Fields {
    return this.of(this.json[key], key);
  }

  /** A list of objects. */
  objects(key: string): Fields[] {
    return this.list(key).map((item, i) => this.of(item, `${key}[${i}]`));
  }

  private of(value: unknown, key: string): Fields {
    const where = this.where === '' ? key : `${this.where}.${key}`;
    if (!isJson(value)) throw badVocabulary(`tokenizer.json: ${where} is not an object`);
    if (this.depth >= DEEPEST)
      throw badVocabulary(`tokenizer.json: ${where} is nested more than ${DEEPEST} levels deep`);
    return new Fields(value, where, this.depth + 1);
  }

  /** Reads a key; null counts as absent. */
  private read<T>(
    key: string,
    kind: string,
    parse: (value: unknown) => T | undefined,
    otherwise: T | undefined,
  ): T {
    const value = this.json[key] ?? undefined;
    const parsed = value === undefined ? otherwise : parse(value);
    if (parsed !== undefined) return parsed;
    throw badVocabulary(
      `tokenizer.json: ${this.where || 'the file'} needs "${key}", ${kind}; it is ${shown(value)}`,
    );
  }
}

const shown = (value: unknown): string =>
  value === undefined ? 'missing' : (JSON.stringify(value) ?? '').slice(0, 60);

/** Makers by the names used in files. */
export type Makers<T> = Readonly<Record<string, (fields: Fields) => T>>;

/** @throws TokenizerError UNKNOWN_TOKENIZER for a name not in the table */
export function make<T>(makers: Makers<T>, fields: Fields): T {
  const { type, where } = fields;
  const maker = Object.hasOwn(makers, type) ? makers[type] : undefined;
  if (maker) return maker(fields);
  throw new TokenizerError(
    'UNKNOWN_TOKENIZER',
    `tokenizer.json: ${where} is of the type "${type.slice(0, 60)}", which this version lacks; it has ${Object.keys(makers).join(', ')}`,
  );
}
