import {
  compileChoices,
  compileGbnf,
  compileRegex,
  compileSchema,
  type Grammar,
  Vocabulary,
} from '@quern/grammar';
import type { Structure } from '../chat/answer/call-structure.js';
import { badOption, RuntimeError } from '../error.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { Constraint } from './constraint.js';
import { jsonSchemaOf } from './json-schema.js';
import { type StructuredOptions, structureOf } from './options.js';

/** Most compiled grammars of a model. */
const mostGrammars = 64;

/** The grammars of a model's calls. Compiled ones are kept, the most recently used. */
export class Grammars {
  private readonly compiled = new Map<string, Grammar>();
  private tokens: Vocabulary | undefined;

  /** @param vocabulary number of logits */
  constructor(
    private readonly tokenizer: Tokenizer | undefined,
    private readonly vocabulary: number,
  ) {}

  /**
   * The constraint of a call; undefined for any text. `structure`: of calls of tools.
   *
   * @throws RuntimeError BAD_OPTION, BAD_GRAMMAR (what is wrong or not supported, and where), NO_TOKENIZER
   */
  constraint(options: StructuredOptions, structure?: Structure): Constraint | undefined {
    if (structure)
      throw badOption("toolChoice is 'auto' or 'none' for now: calls are not enforced yet", 'toolChoice');
    const name = structureOf(options);
    if (!name) return undefined;
    const vocabulary = this.vocabularyOf(name);
    return new Constraint(this.grammar(name, options[name]).matcher(vocabulary));
  }

  private grammar(name: keyof StructuredOptions, value: unknown): Grammar {
    if (name === 'grammar' && typeof value !== 'string') return value as Grammar;
    const source = name === 'schema' ? jsonSchemaOf(value as never) : value;
    const key = `${name} ${JSON.stringify(source)}`;
    const known = this.compiled.get(key) ?? compile(name, source);
    this.compiled.delete(key);
    this.compiled.set(key, known);
    if (this.compiled.size > mostGrammars) this.compiled.delete(this.compiled.keys().next().value!);
    return known;
  }

  /** Made at the first use. */
  private vocabularyOf(option: string): Vocabulary {
    const { tokenizer } = this;
    if (!tokenizer) throw new RuntimeError('NO_TOKENIZER', `${option} needs a model with a vocabulary`);
    if (tokenizer.eog.size === 0)
      throw badOption(`${option} needs a vocabulary with an end token: the text could not end`, option);
    this.tokens ??= new Vocabulary(this.texts(tokenizer), { endOfText: [...tokenizer.eog] });
    return this.tokens;
  }

  /** The bytes of every logit's token; none for control tokens and for logits beyond the vocabulary. */
  private texts(tokenizer: Tokenizer): Uint8Array[] {
    const none = new Uint8Array(0);
    return Array.from({ length: this.vocabulary }, (_, id) =>
      id >= tokenizer.vocabSize || tokenizer.isControl(id) ? none : tokenizer.tokenBytes(id),
    );
  }
}

function compile(name: keyof StructuredOptions, source: unknown): Grammar {
  try {
    switch (name) {
      case 'schema':
        return compileSchema(source as object);
      case 'regex':
        return compileRegex(source as string);
      case 'choices':
        return compileChoices(source as string[]);
      case 'grammar':
        return compileGbnf(source as string);
    }
  } catch (error) {
    throw new RuntimeError('BAD_GRAMMAR', `${name}: ${(error as Error).message}`, { cause: error });
  }
}
