import { PythonValue } from './python-value.js';

type Keywords = Readonly<Record<string, unknown>>;

/** Whether a parameter is written as it is, not as JSON. */
export const isText = ({ type }: Keywords): boolean =>
  Array.isArray(type) ? type.length === 1 && type[0] === 'string' : type === 'string';

const record = (value: unknown): Keywords =>
  typeof value === 'object' && value !== null ? { ...value } : {};

const typeOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'array'
      : typeof value === 'bigint'
        ? 'number'
        : typeof value;

/** The types that a schema names; undefined: any. */
function typesOf(schema: Keywords): ReadonlySet<string> | undefined {
  const { type, const: constant, enum: values, anyOf, oneOf } = schema;
  if (Array.isArray(values)) return new Set(values.map(typeOf));
  if ('const' in schema) return new Set([typeOf(constant)]);
  if (type !== undefined)
    return new Set([type].flat().map((name: unknown) => (name === 'integer' ? 'number' : String(name))));
  const choices: unknown = anyOf ?? oneOf;
  if (!Array.isArray(choices)) return undefined;
  const each = choices.map((choice: unknown) => typesOf(record(choice)));
  return each.includes(undefined) ? undefined : new Set(each.flatMap((types) => [...(types ?? [])]));
}

const words: Readonly<Record<string, string>> = {
  true: 'boolean',
  false: 'boolean',
  null: 'null',
  True: 'boolean',
  False: 'boolean',
  None: 'null',
};

/** The type of the value that a text begins, by its first character. */
const firstTypes: Readonly<Record<string, string>> = { '{': 'object', '[': 'array', '"': 'string' };

/** What a parameter may be, by its schema. */
class Expected {
  private readonly types: ReadonlySet<string> | undefined;

  constructor(readonly schema: Keywords) {
    this.types = typesOf(schema);
  }

  /** Whether it may be a text. */
  get isText(): boolean {
    return this.allows('string');
  }

  /** Where texts are possible, only values of the types beside them are no texts. */
  isValue(type: string): boolean {
    return !this.isText || this.allows(type);
  }

  private allows(type: string): boolean {
    return this.types?.has(type) ?? true;
  }

  /** Whether the schema lists a text as it is. */
  lists(text: string): boolean {
    const { enum: values, const: constant } = this.schema;
    return constant === text || (Array.isArray(values) && values.includes(text));
  }
}

const firstLetters = new Set(Object.keys(words).map((word) => word[0]));

/** Whether a text that begins with `c` may be a value. */
function mayBegin(c: string, expected: Expected): boolean {
  if (firstLetters.has(c))
    return Object.keys(words).some((each) => each[0] === c && expected.isValue(words[each]!));
  const type = firstTypes[c] ?? (/[-+.\d]/.test(c) ? 'number' : undefined);
  return type !== undefined && expected.isValue(type);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads a value as JSON or Python write it, a character at a time. */
class Literal {
  /** The text can be no value. */
  broken = false;
  private readonly value = new PythonValue('/');
  private json = '';

  push(text: string): void {
    for (let i = 0; i < text.length && !this.broken; i++) this.step(text[i]!);
  }

  /** The JSON text of a whole text; undefined: it is no value. */
  whole(text: string, expected: Expected): string | undefined {
    const type = firstTypes[text[0] ?? ''] ?? words[text] ?? 'number';
    if (!expected.isValue(type) || expected.lists(text)) return undefined;
    if (isJson(text)) return text;
    if (type === 'string' || (type === 'number' && expected.isText)) return undefined;
    this.step(')');
    return this.broken || !this.value.done ? undefined : this.json;
  }

  private step(c: string): void {
    const part = this.value.done ? undefined : this.value.step(c);
    if (part === undefined) this.broken = true;
    else this.json += part;
  }
}

/** The end of a string that belongs to the form, or needs the next character. */
const unsure = /\n?[\ud800-\udbff]?$/;

/**
 * Writes the text of a parameter as JSON, as it comes: a string where the schema says so or where it can be no other
 * value. Other values are given out at their end.
 */
export class CoderValue {
  private readonly expected: Expected;
  private readonly literal = new Literal();
  private state: 'start' | 'spaces' | 'value' | 'string' = 'start';
  /** Not given out yet. */
  private held = '';

  /** @param give takes the JSON, from where its kind is known */
  constructor(
    schema: Keywords,
    private readonly give: (json: string) => void,
  ) {
    this.expected = new Expected(schema);
  }

  push(text: string): void {
    if (text === '') return;
    const own = this.state === 'start' && text[0] === '\n' ? text.slice(1) : text; // this line break is the form's
    this.held += own;
    if (this.state === 'start') this.state = 'spaces';
    if (this.state === 'spaces') this.begin(own);
    if (this.state === 'value') this.read(own);
    if (this.state === 'string') this.giveString(unsure.exec(this.held)!.index);
  }

  /** The parameter is whole. */
  end(): void {
    const text = this.held.replace(/\n$/, ''); // so is this one
    const json = this.state === 'value' ? this.literal.whole(text.trim(), this.expected) : undefined;
    if (json !== undefined) {
      this.give(json);
      return;
    }
    if (this.state !== 'string') this.beginString();
    this.giveString(text.length);
    this.give('"');
  }

  /** White space has come, and perhaps the first character behind it. */
  private begin(text: string): void {
    const first = /\S/.exec(text)?.[0];
    if (isText(this.expected.schema) || (first !== undefined && !mayBegin(first, this.expected)))
      this.beginString();
    else if (first !== undefined) this.state = 'value';
  }

  private read(text: string): void {
    this.literal.push(text);
    if (this.literal.broken) this.beginString();
  }

  private beginString(): void {
    this.state = 'string';
    this.give('"');
  }

  private giveString(length: number): void {
    if (length > 0) this.give(JSON.stringify(this.held.slice(0, length)).slice(1, -1));
    this.held = this.held.slice(length);
  }
}
