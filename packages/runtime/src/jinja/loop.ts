import { equals } from './compare.js';
import { TemplateFailure } from './error.js';
import type { Context } from './value.js';
import { type Arguments, Callable, found, Tuple, Undefined, type Value } from './value.js';

/** State of a `for` loop: the fields of `loop`. */
export class Loop {
  index = 0;
  private last: Value | undefined;

  constructor(
    private readonly items: readonly Value[],
    private readonly depth: number,
    /** Renders the loop for other values; undefined for a loop that is not recursive. */
    private readonly again: ((context: Context, values: Value) => Value) | undefined,
  ) {}

  /** `loop` as a value. Calling it recurses. */
  value(): Callable {
    const { again } = this;
    const call = (context: Context, { positional: [values] }: Arguments): Value => {
      if (!again || values === undefined)
        throw new TemplateFailure("loop() needs a 'recursive' loop, and a value to loop over");
      return again(context, values);
    };
    return new Callable('loop', call, (name) => this.field(name));
  }

  private field(name: string): Value | undefined {
    const { index, items } = this;
    switch (name) {
      case 'index':
        return BigInt(index + 1);
      case 'index0':
        return BigInt(index);
      case 'revindex':
        return BigInt(items.length - index);
      case 'revindex0':
        return BigInt(items.length - index - 1);
      case 'first':
        return index === 0;
      case 'last':
        return index === items.length - 1;
      case 'length':
        return BigInt(items.length);
      case 'depth':
        return BigInt(this.depth + 1);
      case 'depth0':
        return BigInt(this.depth);
      case 'previtem':
        return found(items[index - 1], () => new Undefined('there is no previous item'));
      case 'nextitem':
        return found(items[index + 1], () => new Undefined('there is no next item'));
      case 'cycle':
        return new Callable('cycle', (_, { positional }) => this.cycle(positional));
      case 'changed':
        return new Callable('changed', ({ budget }, { positional }) => {
          const now = new Tuple(positional);
          const changed = this.last === undefined || !equals(this.last, now, budget);
          this.last = now;
          return changed;
        });
    }
    return undefined;
  }

  private cycle(values: readonly Value[]): Value {
    if (values.length === 0) throw new TemplateFailure('no items for cycling given');
    return values[this.index % values.length]!;
  }
}
