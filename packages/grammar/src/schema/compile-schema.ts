import { Grammar } from '../grammar.js';
import { atOnce, type Work } from '../turns.js';
import { Builder } from './builder.js';
import { Model } from './model.js';
import type { SchemaOptions } from './options.js';

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
  return yield* Grammar.make(builder.terms, builder.root(), model.notices);
}
