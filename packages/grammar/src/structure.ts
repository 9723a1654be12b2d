import { GrammarError } from './error.js';
import { Grammar } from './grammar.js';
import { search } from './regex/compile.js';
import { parsePattern } from './regex/parse.js';
import { EMPTY } from './regex/regexes.js';
import { spell } from './regex/spell.js';
import { utf8Spelling } from './regex/utf8.js';
import { Builder } from './schema/builder.js';
import { Model } from './schema/model.js';
import type { SchemaOptions } from './schema/options.js';
import { PlainText } from './schema/plain-text.js';
import { Strings } from './schema/strings.js';
import { DONE, type Term, Terms } from './terms/terms.js';
import { atOnce, type Work } from './turns.js';

/** A text of several parts: literal texts, patterns, JSON schemas, in sequence, as alternatives, repeated. */
export type Structure =
  | { readonly literal: string }
  /** ECMA-262, matched from start to end. */
  | { readonly regex: string }
  /** JSON that fits a schema. */
  | { readonly schema: object | boolean; readonly unknownFormats?: UnknownFormats }
  /** A string that fits a schema, as it is: no quotes, no escapes. None of the texts `without` comes in it. */
  | {
      readonly text: object | boolean;
      readonly without: readonly string[];
      readonly unknownFormats?: UnknownFormats;
    }
  | { readonly sequence: readonly Structure[] }
  | { readonly oneOf: readonly Structure[] }
  /** `most` absent: any number. */
  | { readonly repeat: Structure; readonly least: number; readonly most?: number };

/** Of this part; `SchemaOptions` says it of all. */
type UnknownFormats = SchemaOptions['unknownFormats'];

const MAX_DEPTH = 100;

/**
 * The grammar of a text of several parts: calls of tools, for example, with a schema between two marks. Throws as
 * `compileRegex` and `compileSchema` do.
 */
export function compileStructure(structure: Structure, options: SchemaOptions = {}): Grammar {
  return atOnce(structureWork(structure, options));
}

/** `compileStructure` in parts. */
export function* structureWork(
  structure: Structure,
  options: SchemaOptions,
  strings = new Strings(),
): Work<Grammar> {
  const compiler = new Compiler(options, strings);
  const root = yield* compiler.term(structure, 0);
  return yield* Grammar.make(compiler.terms, root, compiler.notices);
}

class Compiler {
  readonly terms: Terms;
  readonly notices = new Set<string>();
  /** One term for each schema object, however often it comes. */
  private readonly known = new Map<string | undefined, Map<object | boolean, Term>>();

  constructor(
    private readonly options: SchemaOptions,
    private readonly strings: Strings,
  ) {
    this.terms = new Terms(strings.regexes, strings.emptiness);
  }

  *term(structure: Structure, depth: number): Work<Term> {
    if (depth > MAX_DEPTH)
      throw new GrammarError('TOO_COMPLEX', '', `a structure nested more than ${MAX_DEPTH} deep`);
    checkPart(structure);
    if ('literal' in structure) return yield* this.literal(structure.literal);
    if ('regex' in structure) return yield* this.pattern(structure.regex);
    if ('schema' in structure) return yield* this.json(structure.schema, structure.unknownFormats);
    if ('text' in structure) return yield* this.text(structure);
    if ('sequence' in structure) {
      const parts = yield* this.each(structure.sequence, depth);
      let sequence: Term = DONE;
      for (const part of parts.reverse()) {
        sequence = yield* this.terms.join(part, sequence);
        yield;
      }
      return sequence;
    }
    if ('oneOf' in structure) return yield* this.terms.choose(yield* this.each(structure.oneOf, depth));
    const part = yield* this.term(structure.repeat, depth + 1);
    return this.terms.repeat(part, structure.least, structure.most ?? Infinity);
  }

  private *each(structures: readonly Structure[], depth: number): Work<Term[]> {
    const parts: Term[] = [];
    for (const structure of structures) {
      parts.push(yield* this.term(structure, depth + 1));
      yield;
    }
    return parts;
  }

  private *literal(text: string): Work<Term> {
    return text === '' ? DONE : this.terms.match(yield* spell(this.strings.regexes, text), DONE);
  }

  private *pattern(source: string): Work<Term> {
    const { regexes } = this.strings;
    const pattern = yield* parsePattern(source);
    return this.terms.match(yield* search(regexes, pattern, utf8Spelling(regexes), EMPTY), DONE);
  }

  private *json(schema: object | boolean, unknownFormats: UnknownFormats): Work<Term> {
    const known = this.known.get(unknownFormats) ?? new Map<object | boolean, Term>();
    this.known.set(unknownFormats, known);
    let term = known.get(schema);
    if (term === undefined) {
      const model = yield* this.model(schema, unknownFormats);
      const builder = new Builder(model, this.options, this.terms);
      yield* builder.prepare();
      term = builder.root();
      known.set(schema, term);
    }
    return term;
  }

  private *text({ text, without, unknownFormats }: Extract<Structure, { text: unknown }>): Work<Term> {
    const model = yield* this.model(text, unknownFormats);
    const regex = yield* new PlainText(model).without(without);
    if (yield* this.strings.emptiness.decide(regex))
      throw new GrammarError('UNSATISFIABLE', '/', 'no string fits the schema');
    return this.terms.match(regex, DONE);
  }

  private *model(
    schema: object | boolean,
    unknownFormats: UnknownFormats = this.options.unknownFormats,
  ): Work<Model> {
    const model = yield* Model.read(schema, { unknownFormats }, this.strings);
    for (const notice of model.notices) this.notices.add(notice);
    return model;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isPart = (value: unknown): boolean => typeof value === 'object' && value !== null;
const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isPart(value);
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const listOf =
  (holds: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(holds);

/** The members of each kind of part. */
const kinds: Readonly<Record<string, Readonly<Record<string, (value: unknown) => boolean>>>> = {
  literal: { literal: isText },
  regex: { regex: isText },
  schema: { schema: isSchema },
  text: { text: isSchema, without: listOf(isText) },
  sequence: { sequence: listOf(isPart) },
  oneOf: { oneOf: listOf(isPart) },
  repeat: { repeat: isPart, least: isCount, most: (value) => value === undefined || isCount(value) },
};

/** Structures may come from plain JavaScript. @throws GrammarError BAD_ARGUMENT */
function checkPart(part: unknown): void {
  const found = isPart(part) ? Object.keys(part as object).filter((key) => key in kinds) : [];
  const [kind] = found;
  if (kind === undefined || found.length > 1)
    throw new GrammarError(
      'BAD_ARGUMENT',
      '',
      `a part of a structure has one of ${Object.keys(kinds).join(', ')}; got ${found.length > 1 ? found.join(' and ') : JSON.stringify(part)}`,
    );
  for (const [name, holds] of Object.entries(kinds[kind]!))
    if (!holds((part as Record<string, unknown>)[name]))
      throw new GrammarError(
        'BAD_ARGUMENT',
        '',
        `${name} of a part { ${kind} } is missing or of a wrong kind`,
      );
}
