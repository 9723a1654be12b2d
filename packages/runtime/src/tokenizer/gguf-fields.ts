import { badVocabulary } from './error.js';

/** The metadata of a GGUF file by key; arrays are JavaScript or typed arrays. */
export type GgufMetadata = ReadonlyMap<string, unknown>;

const PREFIX = 'tokenizer.ggml.';
const NONE = 0xffffffff; // written by converters for "no such token"

/** Typed access to a GGUF file's `tokenizer.ggml.*` keys. A value of a wrong type throws BAD_VOCABULARY. */
export class GgufFields {
  constructor(private readonly metadata: GgufMetadata) {}

  string(key: string): string | undefined {
    return this.read(key, 'a string', (value) => (typeof value === 'string' ? value : undefined));
  }

  boolean(key: string): boolean | undefined {
    return this.read(key, 'a boolean', (value) => (typeof value === 'boolean' ? value : undefined));
  }

  strings(key: string): readonly string[] | undefined {
    const isStrings = (value: unknown): value is readonly string[] =>
      Array.isArray(value) && value.every((item) => typeof item === 'string');
    return this.read(key, 'an array of strings', (value) => (isStrings(value) ? value : undefined));
  }

  /** An array of `length` numbers. */
  numbers(key: string, length: number): ArrayLike<number> | undefined {
    const values = this.read(key, 'an array of numbers', numberArray);
    if (values && values.length !== length) {
      throw badVocabulary(`${PREFIX}${key} has ${values.length} entries, but there are ${length} tokens`);
    }
    return values;
  }

  bytes(key: string): Uint8Array | undefined {
    const values = this.read(key, 'an array of bytes', numberArray);
    return values && Uint8Array.from(values, (value) => value & 0xff);
  }

  /** A token id < `size`. */
  token(key: string, size: number): number | undefined {
    const id = this.read(key, 'a token id', (value) =>
      typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined,
    );
    if (id === undefined || id === NONE || id === -1) return undefined;
    if (Number.isInteger(id) && id >= 0 && id < size) return id;
    throw badVocabulary(`${PREFIX}${key} is ${id}, but token ids are 0 to ${size - 1}`);
  }

  /** A token id, for any vocabulary size. */
  anyToken(key: string): number | undefined {
    return this.token(key, NONE);
  }

  private read<T>(key: string, kind: string, parse: (value: unknown) => T | undefined): T | undefined {
    const value = this.metadata.get(PREFIX + key);
    if (value === undefined) return undefined;
    const parsed = parse(value);
    if (parsed === undefined) throw badVocabulary(`${PREFIX}${key} is not ${kind}`);
    return parsed;
  }
}

function numberArray(value: unknown): ArrayLike<number> | undefined {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'number') ? value : undefined;
  if (!ArrayBuffer.isView(value) || value instanceof DataView) return undefined;
  if (value instanceof BigInt64Array || value instanceof BigUint64Array) return undefined;
  return isNumberView(value) ? value : undefined;
}

const isNumberView = (value: object): value is ArrayLike<number> & object =>
  'length' in value && typeof value.length === 'number';
