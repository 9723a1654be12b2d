import { JsonNumber } from '@quern/grammar';
import type { Budget } from './budget.js';
import { TemplateFailure } from './error.js';
import { floatText } from './number.js';
import { Text, TextBuilder } from './text.js';
import { Dict, isList, Tuple, typeName, type Value } from './value.js';

export interface JsonStyle {
  /** Escape characters outside ASCII as \u…. */
  readonly ascii: boolean;
  /** Indentation per level; undefined: a single line. */
  readonly indent: string | undefined;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortKeys: boolean;
}

const ESCAPED = /[^\P{Cc}\x7f-\x9f]|["\\]/gu;
const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
};

/** Python's json.dumps. */
export function toJson(value: Value, style: JsonStyle, budget: Budget): Text {
  const writer = new JsonWriter(style, budget);
  writer.write(value, '\n');
  return writer.out.text();
}

class JsonWriter {
  readonly out = new TextBuilder();

  constructor(
    private readonly style: JsonStyle,
    private readonly budget: Budget,
  ) {}

  /**
   * @param line the start of a line at this level
   */
  write(value: Value, line: string): void {
    if (value instanceof Text) this.string(value);
    else if (value instanceof Dict) this.budget.within(() => this.dict(value, line));
    else if (isList(value)) this.budget.within(() => this.list(value, line));
    else if (value instanceof Tuple) this.budget.within(() => this.list(value.items, line));
    else this.add(scalar(value));
  }

  private list(items: readonly Value[], line: string): void {
    if (items.length === 0) this.add('[]');
    else this.items('[', ']', line, items, (item, inner) => this.write(item, inner));
  }

  private dict(dict: Dict, line: string): void {
    if (dict.size === 0) {
      this.add('{}');
      return;
    }
    const pairs = dict.pairs();
    if (this.style.sortKeys) pairs.sort(([a], [b]) => (keyText(a).value < keyText(b).value ? -1 : 1));
    this.items('{', '}', line, pairs, ([key, value], inner) => {
      this.string(keyText(key));
      this.add(this.style.keySeparator);
      this.write(value, inner);
    });
  }

  private items<T>(
    open: string,
    close: string,
    line: string,
    items: readonly T[],
    write: (item: T, inner: string) => void,
  ): void {
    const { indent, itemSeparator } = this.style;
    const inner = line + (indent ?? '');
    const lineBreak = (start: string) => (indent === undefined ? '' : start);
    this.add(open + lineBreak(inner));
    for (const [i, item] of items.entries()) {
      if (i > 0) this.add(itemSeparator + lineBreak(inner));
      write(item, inner);
    }
    this.add(lineBreak(line) + close);
  }

  private string(value: Text): void {
    this.budget.characters(value.length);
    this.add('"');
    this.out.add(value.map((run) => this.escape(run)));
    this.add('"');
  }

  private escape(run: string): string {
    const escaped = run.replace(ESCAPED, (character) => SHORT[character] ?? codeUnit(character));
    return this.style.ascii ? escaped.replace(/[\x7f-\uffff]/g, codeUnit) : escaped;
  }

  private add(part: string): void {
    this.budget.step();
    this.budget.characters(part.length);
    this.out.add(new Text(part));
  }
}

const codeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

function scalar(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value instanceof JsonNumber) return value.text;
  if (typeof value === 'number') return floatText(value).replace('inf', 'Infinity').replace('nan', 'NaN');
  throw new TemplateFailure(`a value of type ${typeName(value)} cannot be written as JSON`);
}

const keyText = (key: Value): Text => (key instanceof Text ? key : new Text(scalar(key)));
