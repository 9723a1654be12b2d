import { asText } from './define.js';
import { TemplateFailure } from './error.js';
import { fixedWidth, floatDigits, integerDigits, type NumberStyle } from './format-number.js';
import { toRepr } from './print.js';
import { characters, type Text, TextBuilder } from './text.js';
import type { Context } from './value.js';
import { computed, Dict, isNumber, Tuple, text, typeName, type Value } from './value.js';

const FIELD =
  /%(?:\((?<name>[^)]*)\))?(?<flags>[-+ 0#]*)(?<width>\*|\d+)?(?:\.(?<precision>\*|\d+)?)?(?<type>[a-zA-Z%])?/gy;

/** Python's `format % values`. */
export function printf(context: Context, format: Text, values: Value): Text {
  const positional = values instanceof Tuple ? values.items : [values];
  const named = values instanceof Dict ? values : undefined;
  const printer = new Printer(context, positional, named);
  const out = new TextBuilder();
  let at = 0;
  for (let next = format.value.indexOf('%'); next >= 0; next = format.value.indexOf('%', at)) {
    out.add(format.slice(at, next));
    FIELD.lastIndex = next;
    const found = FIELD.exec(format.value);
    out.add(printer.field(found?.groups ?? {}));
    at = FIELD.lastIndex;
  }
  printer.needAllUsed();
  context.budget.characters(format.length);
  return out.add(format.slice(at)).text();
}

class Printer {
  private used = 0;

  constructor(
    private readonly context: Context,
    private readonly positional: readonly Value[],
    private readonly named: Dict | undefined,
  ) {}

  field({ name, flags = '', width, precision, type }: Readonly<Record<string, string | undefined>>): Text {
    if (type === undefined) throw new TemplateFailure('incomplete format: a letter is missing after %');
    if (type === '%') return text('%');
    const columns = width === '*' ? Number(this.take()) : Number(width ?? 0);
    const places =
      precision === '*' ? Number(this.take()) : precision === undefined ? undefined : Number(precision);
    const value = name === undefined ? this.take() : this.lookUp(name);
    const style: NumberStyle = {
      sign: flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '-',
      alternate: flags.includes('#'),
      precision: places,
    };
    const align = flags.includes('-')
      ? '<'
      : flags.includes('0') && isNumber(computed(value)) && !'srac'.includes(type)
        ? '='
        : '>';
    const body = this.body(type, value, style);
    return fixedWidth(this.context, body, columns, align, text(align === '=' ? '0' : ' '));
  }

  needAllUsed(): void {
    if (!this.named && this.used < this.positional.length)
      throw new TemplateFailure('not all arguments converted during string formatting');
  }

  private take(): Value {
    const value = this.positional[this.used++];
    if (value === undefined) throw new TemplateFailure('not enough arguments for format string');
    return value;
  }

  private lookUp(name: string): Value {
    const value = this.named?.getText(name);
    if (value === undefined) throw new TemplateFailure(`the format asks for "${name}", which is not given`);
    return value;
  }

  private body(type: string, given: Value, style: NumberStyle): Text {
    const { context } = this;
    const value = 'sra'.includes(type) ? given : computed(given);
    if (type === 's') return cut(asText(context, value), style.precision);
    if (type === 'r' || type === 'a') return cut(toRepr(value, context.budget), style.precision);
    if (type === 'c')
      return typeof value === 'bigint' ? text(String.fromCodePoint(Number(value))) : asText(context, value);
    if (!isNumber(value)) throw new TemplateFailure(`%${type} needs a number, not ${typeName(value)}`);
    if ('diu'.includes(type))
      return text(
        integerDigits(
          context,
          typeof value === 'number' ? BigInt(Math.trunc(value)) : BigInt(value),
          'd',
          style,
        ),
      );
    if ('xXo'.includes(type) && typeof value !== 'number')
      return text(integerDigits(context, BigInt(value), type, style));
    if ('eEfFgG'.includes(type)) return text(floatDigits(context, Number(value), type, style));
    throw new TemplateFailure(`unsupported format character '${type}'`);
  }
}

const cut = (whole: Text, most: number | undefined): Text =>
  most === undefined
    ? whole
    : whole.slice(
        0,
        characters(whole.slice(0, most * 2))
          .slice(0, most)
          .reduce((n, c) => n + c.length, 0),
      );
