import { choicesWork, regexWork } from './compile.js';
import { gbnfWork } from './gbnf.js';
import type { Grammar } from './grammar.js';
import { schemaWork } from './schema/compile-schema.js';
import type { SchemaOptions } from './schema/options.js';
import { prepareSchemas } from './schema/strings.js';
import { type Structure, structureWork } from './structure.js';
import { inTurns, type Work } from './turns.js';

/** What a text must be. */
export type GrammarSource =
  | { readonly schema: unknown }
  | { readonly regex: string | RegExp }
  | { readonly choices: readonly string[] }
  /** llama.cpp's notation. */
  | { readonly gbnf: string }
  | { readonly structure: Structure };

/**
 * `compileSchema`, `compileRegex`, `compileChoices`, `compileGbnf` or `compileStructure` in turns of a few milliseconds: other
 * work of the event loop goes on meanwhile. Rejects with what they throw, and with the reason of `signal` at the turn after
 * it aborts.
 */
export async function compileInTurns(
  source: GrammarSource,
  options: SchemaOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<Grammar> {
  await prepareSchemas();
  return inTurns(workOf(source, options), options.signal);
}

/** The compiling of a source, in parts. */
export function workOf(source: GrammarSource, options: SchemaOptions): Work<Grammar> {
  if ('schema' in source) return schemaWork(source.schema, options);
  if ('regex' in source) return regexWork(source.regex);
  if ('choices' in source) return choicesWork(source.choices);
  if ('gbnf' in source) return gbnfWork(source.gbnf);
  return structureWork(source.structure, options);
}
