import {
  compileInTurns,
  type Grammar,
  type GrammarSource,
  type SchemaOptions,
  type Structure,
  stringifyJson,
  Vocabulary,
} from '@quern/grammar';
import { badOption, RuntimeError } from '../error.js';
import { giveNotice, type NoticeListener } from '../notice.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { Constraint } from './constraint.js';
import { jsonSchemaOf } from './json-schema.js';
import { type LazyGrammar, LazyMatcher, type Trigger } from './lazy-matcher.js';
import { type SchemaRules, type StructuredOptions, structureOf } from './options.js';
import { SharedCompilation } from './shared-compilation.js';
import type { TokenMatcher } from './token-matcher.js';

/** Most compiled grammars of a model. */
const mostGrammars = 64;

/** What an answer must be that calls tools: wholly, or where it calls them. */
export type CallsStructure = { readonly whole: Structure } | { readonly lazy: LazyStructure };

/** A `LazyGrammar` to be compiled. */
export interface LazyStructure extends Pick<LazyGrammar, 'longest' | 'thinking'> {
  readonly triggers: readonly (Omit<Trigger, 'behind'> & {
    readonly behind: ReadonlyMap<string, Structure>;
  })[];
}

/** How a call's grammars are compiled. */
interface CompileRules extends SchemaRules {
  readonly signal?: AbortSignal | undefined;
}

export interface CallsRules {
  readonly structure: CallsStructure;
  /** What is in it of each tool: named where it cannot be enforced. */
  readonly parts: ReadonlyMap<string, Structure>;
  /** Control tokens that are marks of calls: the text has them. */
  readonly marks: ReadonlySet<number>;
}

/** The grammars of a model's calls. Compiled ones are kept by their content, the most recently used. */
export class Grammars {
  private readonly compiled = new Map<string, SharedCompilation>();
  private readonly given = new Set<string>();
  /** By their marks. */
  private readonly vocabularies = new Map<string, Promise<Vocabulary>>();

  /** @param vocabulary number of logits */
  constructor(
    private readonly tokenizer: Tokenizer | undefined,
    private readonly vocabulary: number,
    private readonly onNotice?: NoticeListener,
  ) {}

  /**
   * The constraint of a call; undefined for any text. With `logprobs`, no token is forced: all are chosen.
   * @throws RuntimeError BAD_OPTION, BAD_GRAMMAR (what is wrong or not supported, and where), NO_TOKENIZER
   */
  async constraint(
    options: StructuredOptions & CompileRules & { readonly logprobs?: number | undefined },
    calls?: CallsRules,
  ): Promise<Constraint | undefined> {
    const matcher = await this.matcher(options, calls);
    return matcher && new Constraint(matcher, options.logprobs === undefined);
  }

  private async matcher(
    options: StructuredOptions & CompileRules,
    calls?: CallsRules,
  ): Promise<TokenMatcher | undefined> {
    const name = structureOf(options);
    if (calls) return this.callsMatcher(calls, options);
    if (!name) return undefined;
    const grammar = await this.grammar(name, options);
    this.notice(grammar, name, options);
    return grammar.matcher(await this.vocabularyOf(name, noMarks));
  }

  private async callsMatcher(
    { structure, parts, marks }: CallsRules,
    rules: CompileRules,
  ): Promise<TokenMatcher> {
    if ('whole' in structure) {
      const grammar = await this.calls(structure.whole, parts, rules);
      return grammar.matcher(await this.vocabularyOf('toolChoice', marks));
    }
    const { triggers, ...lazy } = structure.lazy;
    const compiled = [];
    for (const trigger of triggers)
      compiled.push({ ...trigger, behind: await this.each(trigger.behind, parts, rules) });
    return new LazyMatcher({ ...lazy, triggers: compiled }, await this.vocabularyOf('tools', marks));
  }

  private async each(
    structures: ReadonlyMap<string, Structure>,
    parts: CallsRules['parts'],
    rules: CompileRules,
  ): Promise<Map<string, Grammar>> {
    const compiled = new Map<string, Grammar>();
    for (const [key, structure] of structures) compiled.set(key, await this.calls(structure, parts, rules));
    return compiled;
  }

  private async grammar(
    name: keyof StructuredOptions,
    options: StructuredOptions & CompileRules,
  ): Promise<Grammar> {
    const { schema, regex, choices, grammar, signal } = options;
    if (schema !== undefined) return this.kept(name, { schema: jsonSchemaOf(schema) }, options);
    if (regex !== undefined) return this.kept(name, { regex }, { signal });
    if (choices !== undefined) return this.kept(name, { choices }, { signal });
    return typeof grammar === 'string'
      ? this.kept(name, { gbnf: grammar }, { signal })
      : (grammar as Grammar);
  }

  private async calls(
    structure: Structure,
    parts: CallsRules['parts'],
    rules: CompileRules,
  ): Promise<Grammar> {
    try {
      const grammar = await this.kept('tools', { structure }, rules);
      this.notice(grammar, 'tools', rules);
      return grammar;
    } catch (error) {
      if (rules.signal?.aborted) throw error;
      for (const [tool, part] of parts) await compile({ structure: part }, rules, `tools, '${tool}'`); // names the one at fault
      throw error;
    }
  }

  /** Calls that come while the same is being compiled wait for it. */
  private kept(
    name: string,
    source: GrammarSource,
    { keyOrder, unknownFormats, signal }: CompileRules,
  ): Promise<Grammar> {
    const key = `${name} ${keyOrder} ${unknownFormats} ${asJson(name, source)}`;
    const found = this.compiled.get(key);
    const known =
      found && !found.isAborted
        ? found
        : new SharedCompilation((ended) =>
            compile(source, { keyOrder, unknownFormats, signal: ended }, name),
          );
    this.compiled.delete(key);
    this.compiled.set(key, known);
    if (this.compiled.size > mostGrammars) this.compiled.delete(this.compiled.keys().next().value!);
    return known.wait(signal).catch((error) => {
      if (this.compiled.get(key) === known) this.compiled.delete(key);
      throw error;
    });
  }

  /** Tells the call of each, or the model's listener once. */
  private notice({ notices = [] }: Grammar, name: string, { onNotice }: SchemaRules): void {
    for (const notice of notices) {
      const text = `${name}: ${notice}`;
      if (onNotice) onNotice(text);
      else if (!this.given.has(text)) {
        this.given.add(text);
        giveNotice(this.onNotice, text);
      }
    }
  }

  /** Made at the first use, in turns of the event loop. */
  private vocabularyOf(option: string, marks: ReadonlySet<number>): Promise<Vocabulary> {
    const { tokenizer } = this;
    if (!tokenizer) throw new RuntimeError('NO_TOKENIZER', `${option} needs a model with a vocabulary`);
    if (tokenizer.eog.size === 0)
      throw badOption(`${option} needs a vocabulary with an end token: the text could not end`, option);
    const key = [...marks].join();
    const known = this.vocabularies.get(key);
    if (known) return known;
    const made = this.build(tokenizer, marks);
    this.vocabularies.set(key, made);
    return made;
  }

  private build(tokenizer: Tokenizer, marks: ReadonlySet<number>): Promise<Vocabulary> {
    const texts = { length: this.vocabulary, at: (id: number) => this.text(tokenizer, marks, id) };
    return Vocabulary.build(texts, { endOfText: [...tokenizer.eog] });
  }

  /** The bytes of a logit's token; none for control tokens but `marks`, and for logits beyond the vocabulary. */
  private text(tokenizer: Tokenizer, marks: ReadonlySet<number>, id: number): Uint8Array {
    if (marks.has(id)) return new TextEncoder().encode(tokenizer.tokenText(id));
    return id >= tokenizer.vocabSize || tokenizer.isControl(id) ? noText : tokenizer.tokenBytes(id);
  }
}

const noMarks: ReadonlySet<number> = new Set();
const noText = new Uint8Array(0);

type CompileOptions = SchemaOptions & { readonly signal?: AbortSignal | undefined };

/** @throws RuntimeError BAD_GRAMMAR for an object that contains itself */
function asJson(name: string, source: unknown): string {
  try {
    return stringifyJson(source) ?? '';
  } catch (cause) {
    const why = (cause as Error).message.split('\n')[0];
    throw new RuntimeError('BAD_GRAMMAR', `${name}: it is no JSON: ${why}`, { cause });
  }
}

async function compile(source: GrammarSource, options: CompileOptions, named: string): Promise<Grammar> {
  try {
    return await compileInTurns(source, options);
  } catch (error) {
    throw new RuntimeError('BAD_GRAMMAR', `${named}: ${(error as Error).message}`, { cause: error });
  }
}
