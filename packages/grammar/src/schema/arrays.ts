import { DONE, FAIL, type Rule, type Term } from '../terms/terms.js';
import type { Flat } from './flat.js';
import type { Values } from './values.js';

/** Arrays of one alternative: rules by the number of items so far. */
export class ArrayRules {
  private readonly rules = new Map<number, Rule>();
  /** From this count on all counts are alike; Infinity if there is a maximum. */
  private readonly last: number;

  constructor(
    private readonly values: Values,
    private readonly flat: Flat,
  ) {
    this.last =
      flat.maxItems === Infinity ? Math.max(flat.minItems, values.model.prefixLength(flat)) : Infinity;
  }

  term(): Term {
    const { terms, marks } = this.values;
    return terms.match(marks.openArray, terms.choice([this.item(0), this.close(0)]));
  }

  /** Item `count`, counted from 0, and all after it. */
  private item(count: number): Term {
    const { terms, model } = this.values;
    const schemas = model.item(this.flat, count);
    if (count >= this.flat.maxItems || !model.isPossible(schemas)) return FAIL;
    return this.values.value(schemas, terms.call(this.after(Math.min(count + 1, this.last)), DONE));
  }

  private close(count: number): Term {
    const { terms, marks } = this.values;
    return count >= this.flat.minItems ? terms.match(marks.closeArray, DONE) : FAIL;
  }

  private after(count: number): Rule {
    const { terms, marks } = this.values;
    let rule = this.rules.get(count);
    if (rule === undefined) {
      rule = terms.rule(() => terms.choose([terms.match(marks.comma, this.item(count)), this.close(count)]));
      this.rules.set(count, rule);
    }
    return rule;
  }
}
