import {
  compileChoices,
  compileGbnf,
  compileRegex,
  compileSchema,
  compileStructure,
  type Grammar,
  type Structure,
  Vocabulary,
} from '@quern/grammar';
import { badOption, RuntimeError } from '../error.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { Constraint } from './constraint.js';
import { jsonSchemaOf } from './json-schema.js';
import { type StructuredOptions, structureOf } from './options.js';

/** Most compiled grammars of a model. */
const mostGrammars = 64;

/** The structure of an answer that calls tools. */
export interface CallsStructure {
  readonly structure: Structure;
  /** Control tokens that are marks of calls: the text has them. */
  readonly marks: ReadonlySet<number>;
}

/** The grammars of a model's calls. Compiled ones are kept, the most recently used. */
export class Grammars {
  private readonly compiled = new Map<string, Grammar>();
  /** By their marks. */
  private readonly vocabularies = new Map<string, Vocabulary>();

  /** @param vocabulary number of logits */
  constructor(
    private readonly tokenizer: Tokenizer | undefined,
    private readonly vocabulary: number,
  ) {}

  /**
   * The constraint of a call; undefined for any text.
   * @throws RuntimeError BAD_OPTION, BAD_GRAMMAR (what is wrong or not supported, and where), NO_TOKENIZER
   */
  constraint(options: StructuredOptions, calls?: CallsStructure): Constraint | undefined {
    if (calls) {
      const vocabulary = this.vocabularyOf('toolChoice', calls.marks);
      return new Constraint(this.kept('tools', calls.structure).matcher(vocabulary));
    }
    const name = structureOf(options);
    return (
      name && new Constraint(this.grammar(name, options[name]).matcher(this.vocabularyOf(name, noMarks)))
    );
  }

  private grammar(name: keyof StructuredOptions, value: unknown): Grammar {
    if (name === 'grammar' && typeof value !== 'string') return value as Grammar;
    return this.kept(name, name === 'schema' ? jsonSchemaOf(value as never) : value);
  }

  private kept(name: GrammarSource, source: unknown): Grammar {
    const key = `${name} ${JSON.stringify(source)}`;
    const known = this.compiled.get(key) ?? compile(name, source);
    this.compiled.delete(key);
    this.compiled.set(key, known);
    if (this.compiled.size > mostGrammars) this.compiled.delete(this.compiled.keys().next().value!);
    return known;
  }

  /** Made at the first use. */
  private vocabularyOf(option: string, marks: ReadonlySet<number>): Vocabulary {
    const { tokenizer } = this;
    if (!tokenizer) throw new RuntimeError('NO_TOKENIZER', `${option} needs a model with a vocabulary`);
    if (tokenizer.eog.size === 0)
      throw badOption(`${option} needs a vocabulary with an end token: the text could not end`, option);
    const key = [...marks].join();
    const known = this.vocabularies.get(key);
    if (known) return known;
    const made = new Vocabulary(this.texts(tokenizer, marks), { endOfText: [...tokenizer.eog] });
    this.vocabularies.set(key, made);
    return made;
  }

  /** The bytes of every logit's token; none for control tokens but `marks`, and for logits beyond the vocabulary. */
  private texts(tokenizer: Tokenizer, marks: ReadonlySet<number>): Uint8Array[] {
    const none = new Uint8Array(0);
    const spelling = (id: number) => new TextEncoder().encode(tokenizer.tokenText(id));
    return Array.from({ length: this.vocabulary }, (_, id) => {
      if (marks.has(id)) return spelling(id);
      return id >= tokenizer.vocabSize || tokenizer.isControl(id) ? none : tokenizer.tokenBytes(id);
    });
  }
}

const noMarks: ReadonlySet<number> = new Set();

type GrammarSource = keyof StructuredOptions | 'tools';

function compile(name: GrammarSource, source: unknown): Grammar {
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
      case 'tools':
        return compileStructure(source as Structure);
    }
  } catch (error) {
    throw new RuntimeError('BAD_GRAMMAR', `${name}: ${(error as Error).message}`, { cause: error });
  }
}
