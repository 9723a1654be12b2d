import { JsonNumber } from '@quern/grammar';
import { TemplateFailure } from './error.js';
import { Text } from './text.js';
import { Dict, text, Undefined, type Value } from './value.js';

const MOST_DEPTH = 200;
const MOST_ELEMENTS = 20_000_000;

/** Integers are ints with the digits that `JSON.stringify` writes. */
const fromNumber = (value: number): bigint | number =>
  Number.isInteger(value) && Math.abs(value) < 1e21 && !Object.is(value, -0) ? BigInt(String(value)) : value;

/** Converts JavaScript values to template values, and counts them. */
export class Converter {
  /** Elements of lists and dicts, plus characters of strings. */
  elements = 0;
  characters = 0;
  private depth = 0;

  /**
   * @param typed the strings come from outside, see Text
   * @throws TemplateFailure
   */
  convert(value: unknown, typed: boolean): Value {
    if (typeof value === 'string') return this.string(value, typed);
    if (typeof value === 'boolean' || typeof value === 'bigint') return value;
    if (typeof value === 'number') return fromNumber(value);
    if (value instanceof JsonNumber) return this.written(value);
    if (value === null) return null;
    if (value === undefined) return new Undefined('the value is undefined');
    if (typeof value === 'object') return this.object(value, typed);
    throw new TemplateFailure(`a ${typeof value} cannot be given to a template`);
  }

  /** The entries of an object. `fieldTyped(name)`: the field's strings come from outside. */
  dict(object: object, fieldTyped: (name: string) => boolean, keysTyped: boolean): Dict {
    const entries = Object.entries(object).filter(([, value]) => value !== undefined);
    this.count(1 + entries.length);
    return new Dict(
      entries.map(([name, value]) => [
        keysTyped ? this.string(name, true) : text(name),
        this.convert(value, fieldTyped(name)),
      ]),
    );
  }

  private written(value: JsonNumber): JsonNumber {
    this.characters += value.text.length;
    return value;
  }

  private string(value: string, typed: boolean): Text {
    this.characters += value.length;
    return typed ? Text.typed(value) : new Text(value);
  }

  private object(value: object, typed: boolean): Value {
    if (++this.depth > MOST_DEPTH)
      throw new TemplateFailure(`the variables are nested more than ${MOST_DEPTH} deep, or hold themselves`);
    const made = this.collection(value, typed);
    this.depth--;
    return made;
  }

  private collection(value: object, typed: boolean): Value {
    if (Array.isArray(value)) return Array.from(value, (item: unknown) => this.item(item, typed));
    if ('toJSON' in value && typeof value.toJSON === 'function') return this.convert(value.toJSON(), typed);
    return this.dict(value, () => typed, typed);
  }

  private item(value: unknown, typed: boolean): Value {
    this.count(1);
    return this.convert(value ?? null, typed);
  }

  private count(more: number): void {
    this.elements += more;
    if (this.elements > MOST_ELEMENTS)
      throw new TemplateFailure(
        `the variables have more than ${MOST_ELEMENTS.toLocaleString('en')} elements`,
      );
  }
}
