import { Grammar } from '../grammar.js';
import { atOnce, type Work } from '../turns.js';
import { Builder, type WhiteSpace } from './builder.js';
import { Model } from './model.js';
import type { KeyOrder } from './values.js';

export interface SchemaOptions {
  /**
   * White space between the tokens of JSON. 'single' (default): at most one space or newline after { [ , : and before } ].
   * 'none': compact. 'any': up to 256 characters wherever JSON allows white space.
   */
  readonly whiteSpace?: WhiteSpace | undefined;
  /**
   * 'schema' (default): keys come in the order of `properties`; optional ones may be left out; keys that only `required` or
   * `dependentRequired` name, then those of `patternProperties` and `additionalProperties`, come behind them. 'any': in any
   * order.
   */
  readonly keyOrder?: KeyOrder | undefined;
  /** Formats outside the list in the README: 'ignore' (default; `grammar.notices` names them), or 'refuse': UNSUPPORTED. */
  readonly unknownFormats?: 'refuse' | 'ignore' | undefined;
}

/**
 * The grammar of JSON texts that fit a JSON schema (2020-12; older drafts where they do not contradict it). Throws GrammarError:
 * UNSUPPORTED names a keyword that cannot be enforced, by its JSON pointer; INVALID, BAD_REFERENCE, UNSATISFIABLE and
 * TOO_COMPLEX tell other faults.
 */
export function compileSchema(schema: unknown, options: SchemaOptions = {}): Grammar {
  return atOnce(schemaWork(schema, options));
}

/** `compileSchema` in parts. */
export function* schemaWork(schema: unknown, options: SchemaOptions): Work<Grammar> {
  const model = yield* Model.read(schema, options);
  const builder = new Builder(model, options);
  yield* builder.prepare();
  return new Grammar(builder.terms, builder.root(), model.notices);
}
