import { type Backend, type BackendPlan, checkOptions, type DeviceProfile, type KvCache } from '@quern/core';
import type { DecoderConfig, LanguageModel } from '@quern/models';
import { rolesFor } from '../chat/chat-template.js';
import { builtinTemplates, type ChatMessage, type ChatTemplate } from '../chat/index.js';
import { needMessages } from '../chat/need-messages.js';
import type { Engine, EngineStats } from '../engine/engine.js';
import { badArgument, badOption, RuntimeError } from '../error.js';
import {
  type ChatOptions,
  checkChat,
  checkGenerate,
  type GenerateOptions,
} from '../generation/generate-options.js';
import { ChatGeneration, Generation } from '../generation/generation.js';
import type { GenerationSource, Prompt } from '../generation/generation-source.js';
import { withDescribed } from '../generation/tool-options.js';
import type { NoticeListener } from '../notice.js';
import type { DraftSource, DraftTarget } from '../speculation/draft-source.js';
import { needSameVocabulary } from '../speculation/draft-source.js';
import {
  needExactRows,
  needRepeatableDrafts,
  needSpeculateOptions,
  type SpeculateOptions,
} from '../speculation/speculate-options.js';
import { Grammars } from '../structured/grammars.js';
import type { OutputSchema, OutputValue } from '../structured/options.js';
import type { DecodeOptions, EncodeOptions, Tokenizer } from '../tokenizer/index.js';
import { whileLive } from '../while-live.js';
import type { Adapters, LoadedAdapter } from './adapters.js';
import { type ChatModel, chatSource, chosenTools } from './chat-source.js';
import { type InfillOptions, infillPrompt } from './infill-prompt.js';
import type { LoadedFile } from './loaded-file.js';
import { type LogitsOptions, logitsSchema } from './logits-options.js';
import {
  type ChatTextOptions,
  type ChatTokensOptions,
  chatPrompt,
  chatTextSchema,
  chatTokensSchema,
  needIdList,
  needPrompt,
  needTokenizer,
  needTokens,
  type PromptRules,
  textPrompt,
} from './prompt.js';
import { Session } from './session.js';
import { type SignalOptions, signalSchema } from './signal-options.js';

/** The parts of a loaded model. */
export interface ModelParts {
  readonly path: string;
  readonly file: LoadedFile;
  readonly weights: LanguageModel;
  readonly tokenizer: Tokenizer | undefined;
  readonly chatTemplate: ChatTemplate | undefined;
  readonly plan: BackendPlan;
  readonly cache: KvCache;
  readonly engine: Engine;
  readonly deterministic: boolean;
  readonly adapters: Adapters;
  readonly loadMs: number;
  readonly onNotice?: NoticeListener;
  /** Backends to dispose with the model. */
  readonly owned: readonly Backend[];
}

/**
 * A language model, ready to generate. Calls may overlap: they share the cache and the steps of the device, and equal
 * prefixes of their prompts are computed once.
 */
export class Model {
  /** The file or folder of the model. */
  readonly path: string;
  /** What the file holds. */
  readonly file: LoadedFile;
  readonly architecture: string;
  readonly config: DecoderConfig;
  /** Undefined where the file has no vocabulary: prompts are then token ids. */
  readonly tokenizer: Tokenizer | undefined;
  readonly chatTemplate: ChatTemplate | undefined;
  /** Name of the backend. Several backends: their names in the order of the layers, 'cpu,reference'. */
  readonly backend: string;
  /** Measurements of the device. Several backends: of the last one, which computes the logits. */
  readonly profile: DeviceProfile;
  readonly plan: BackendPlan;
  /** Load time in milliseconds. */
  readonly loadMs: number;
  private readonly grammars: Grammars;
  private disposed = false;

  constructor(private readonly parts: ModelParts) {
    const { weights } = parts;
    this.path = parts.path;
    this.file = parts.file;
    this.architecture = weights.architecture;
    this.config = weights.config;
    this.tokenizer = parts.tokenizer;
    this.chatTemplate = parts.chatTemplate;
    this.backend = parts.plan.ranges.map(({ backend }) => backend).join(',');
    this.profile = weights.backend.profile;
    this.plan = parts.plan;
    this.loadMs = parts.loadMs;
    this.grammars = new Grammars(parts.tokenizer, weights.config.vocabulary, parts.onNotice);
  }

  /** Tokens of context. */
  get context(): number {
    return this.plan.context;
  }

  /** Blocks of the cache that no call holds: all of them where no generation runs. */
  get freeBlocks(): number {
    return this.parts.engine.freeBlocks;
  }

  /** What the model does at this moment, and sums since it was loaded: for metrics. */
  stats(): EngineStats {
    return this.parts.engine.stats;
  }

  /**
   * Resolves when all known prefixes are in `cacheDir`; at once without one. They are written in the background when
   * their call has ended; `dispose` does not wait. @throws RuntimeError DISPOSED
   */
  async saveCache(): Promise<void> {
    this.needLive();
    await this.parts.engine.save();
  }

  /**
   * Continues a text or token ids. Reading rejects with all errors but those of the arguments' form, which the call throws.
   * @throws RuntimeError BAD_OPTION, BAD_ARGUMENT; SamplingError BAD_OPTION
   */
  generate<const S extends OutputSchema>(
    prompt: string | readonly number[],
    options: GenerateOptions & { readonly schema: S },
  ): Generation<OutputValue<S>>;
  generate<const C extends readonly string[]>(
    prompt: string | readonly number[],
    options: GenerateOptions & { readonly choices: C },
  ): Generation<C[number], C[number]>;
  generate(prompt: string | readonly number[], options?: GenerateOptions): Generation;
  generate(prompt: string | readonly number[], options: GenerateOptions = {}): Generation {
    return this.continuation(prompt, options, this.needLive);
  }

  /**
   * The answer to a chat, in the format of the model's template; calls the tools that have `run`. Reading rejects with all
   * errors but those of the arguments' form, which the call throws.
   * @throws RuntimeError BAD_OPTION, BAD_ARGUMENT; SamplingError BAD_OPTION; RuntimeError BAD_GRAMMAR for `parameters` of
   * tools that JSON cannot say
   */
  chat<const S extends OutputSchema>(
    messages: readonly ChatMessage[],
    options: ChatOptions & { readonly schema: S },
  ): ChatGeneration<OutputValue<S>>;
  chat<const C extends readonly string[]>(
    messages: readonly ChatMessage[],
    options: ChatOptions & { readonly choices: C },
  ): ChatGeneration<C[number], C[number]>;
  chat(messages: readonly ChatMessage[], options?: ChatOptions): ChatGeneration;
  chat(messages: readonly ChatMessage[], options: ChatOptions = {}): ChatGeneration {
    return this.answer(messages, options, this.needLive);
  }

  /** The calls of one conversation, with an end of their own. */
  session(): Session {
    this.needLive();
    return new Session({
      generate: (prompt, options, needOpen) => this.continuation(prompt, options, needOpen),
      chat: (messages, options, needOpen) => this.answer(messages, options, needOpen),
    });
  }

  /**
   * The logits after each token of `ids`: [V] per position, ids.length · V · 4 bytes in total. Rejects with
   * RuntimeError EMPTY_PROMPT, BAD_TOKEN, PROMPT_TOO_LONG, BAD_LOGITS (a logit is NaN or infinite), ADAPTER_NOT_FOUND,
   * DISPOSED; BackendError ABORTED.
   */
  async logits(ids: readonly number[], options: LogitsOptions = {}): Promise<Float32Array[]> {
    this.needLive();
    checkOptions('logits', options, logitsSchema, badOption);
    const { signal } = options;
    needIdList('logits', ids);
    needTokens(ids, this.promptRules);
    if (ids.length > this.context)
      throw new RuntimeError(
        'PROMPT_TOO_LONG',
        `${ids.length} tokens do not fit in the context of ${this.context}: pass fewer, or load the model with a larger context (--ctx on the command line)`,
      );
    const { engine, adapters } = this.parts;
    const loan = adapters.take(options.adapters);
    const sequence = engine.sequence({ reuse: false, adapters: loan.uses });
    try {
      return await whileLive(this.needLive, () => engine.logits(sequence, ids, signal));
    } finally {
      engine.release(sequence);
      loan.end();
    }
  }

  /** The loaded adapters. */
  get adapters(): readonly LoadedAdapter[] {
    return this.parts.adapters.loaded;
  }

  /**
   * Loads a LoRA adapter under a name for `adapters` of calls: a folder of PEFT, or a GGUF file. Running calls go on. A
   * failure changes nothing.
   * @throws ModelError NOT_FOUND, BAD_ADAPTER, BAD_CONFIG, UNSUPPORTED_CONFIG, UNKNOWN_FORMAT, ABORTED; FileError;
   * RuntimeError BAD_ARGUMENT (also for a name that is taken), BAD_OPTION, DISPOSED; BackendError OUT_OF_MEMORY
   */
  async loadAdapter(name: string, path: string, options: SignalOptions = {}): Promise<void> {
    this.needLive();
    checkOptions('loadAdapter', options, signalSchema, badOption);
    await whileLive(this.needLive, () => this.parts.adapters.load(name, path, options.signal));
  }

  /**
   * Ends an adapter: new calls cannot use it. Resolves when its running calls have ended and its memory is free.
   * @throws RuntimeError ADAPTER_NOT_FOUND, DISPOSED
   */
  async unloadAdapter(name: string): Promise<void> {
    this.needLive();
    await whileLive(this.needLive, () => this.parts.adapters.unload(name));
  }

  /** The token ids of a chat's prompt, as `chat` computes them. Rejects as `chat` does. */
  async chatTokens(
    messages: readonly ChatMessage[],
    options: ChatTokensOptions = {},
  ): Promise<readonly number[]> {
    this.needLive();
    checkOptions('chatTokens', options, chatTokensSchema, badOption);
    this.needMessages('chatTokens', messages, options);
    const encode = withDescribed(options);
    return (await chatPrompt(this.needChatTemplate(), messages, encode, this.promptRules)).ids;
  }

  /** The text of a chat's prompt, for people, as `ChatTemplate.render` writes it. Throws as `chat` rejects. */
  chatText(messages: readonly ChatMessage[], options: ChatTextOptions = {}): string {
    checkOptions('chatText', options, chatTextSchema, badOption);
    this.needMessages('chatText', messages, options);
    return this.needChatTemplate().render(messages, withDescribed(options));
  }

  /**
   * The token ids of a prompt for filling in the middle: `generate` continues them with the text between `prefix` and
   * `suffix`. Neither text can write control tokens. Rejects with RuntimeError NO_FIM, NO_TOKENIZER, PROMPT_TOO_LONG,
   * BAD_ARGUMENT, BAD_OPTION, DISPOSED.
   */
  async infillTokens(
    prefix: string,
    suffix: string,
    options: InfillOptions = {},
  ): Promise<readonly number[]> {
    this.needLive();
    return infillPrompt([prefix, suffix], options, this.path, this.promptRules);
  }

  /** @throws RuntimeError NO_TOKENIZER; TokenizerError BAD_ARGUMENT, BAD_OPTION */
  tokenize(text: string, options?: EncodeOptions): number[] {
    return needTokenizer(this.tokenizer).encode(text, options);
  }

  /** @throws RuntimeError NO_TOKENIZER; TokenizerError BAD_TOKEN, BAD_ARGUMENT, BAD_OPTION */
  detokenize(ids: Iterable<number>, options?: DecodeOptions): string {
    return needTokenizer(this.tokenizer).decode(ids, options);
  }

  /**
   * Frees weights, cache and backends, except the caller's own backends. Running generations reject. Disposing twice is
   * harmless.
   */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    const { engine, cache, weights, owned } = this.parts;
    engine.dispose();
    cache.dispose();
    weights.dispose();
    for (const backend of owned) backend.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private get promptRules(): PromptRules {
    return { tokenizer: this.tokenizer, vocabulary: this.config.vocabulary, context: this.context };
  }

  private continuation(
    prompt: string | readonly number[],
    options: GenerateOptions,
    needOpen: () => void,
  ): Generation {
    checkGenerate(options);
    needPrompt(prompt);
    const source = this.source(options, needOpen, () =>
      textPrompt(prompt, options.special ?? false, this.promptRules),
    );
    return new Generation(source, options);
  }

  private answer<Value, Text extends string>(
    messages: readonly ChatMessage[],
    options: ChatOptions,
    needOpen: () => void,
  ): ChatGeneration<Value, Text> {
    checkChat(options);
    this.needMessages('chat', messages, options);
    const tools = chosenTools(options);
    const begin = () => {
      this.needLive();
      needOpen();
      const template = this.needChatTemplate();
      const source: ChatModel['source'] = (prompt, calls) => ({
        ...this.source(options, needOpen, prompt),
        constraint: () => this.grammars.constraint(options, calls()),
      });
      const { onNotice } = this.parts;
      const chat: ChatModel = { template, rules: this.promptRules, tools, onNotice, source };
      return chatSource<Value, Text>(chat, options);
    };
    return new ChatGeneration<Value, Text>(begin, messages, options);
  }

  /** @throws RuntimeError BAD_ARGUMENT */
  private needMessages(where: string, messages: unknown, options: Pick<ChatTextOptions, 'roles'>): void {
    const { chatTemplate } = this;
    needMessages(where, messages, badArgument, chatTemplate && rolesFor(chatTemplate, options));
    if (messages.length > 0) return;
    const example = "[{ role: 'user', content: 'Hello!' }]";
    throw badArgument(`[${where}] messages is empty; it must have a message, as ${example}`, 'messages');
  }

  private needChatTemplate(): ChatTemplate {
    if (this.chatTemplate) return this.chatTemplate;
    throw new RuntimeError(
      'NO_CHAT_TEMPLATE',
      `${this.path} has no chat template, so it may not be a chat model: generate from plain text, or load it with chatTemplate: ${builtinTemplates.map((name) => `'${name}'`).join(', ')} or Jinja (--chat-template on the command line)`,
    );
  }

  private source(
    options: GenerateOptions,
    needOpen: () => void,
    prompt: () => Promise<Prompt>,
  ): GenerationSource {
    return {
      engine: this.parts.engine,
      tokenizer: this.tokenizer,
      vocabulary: this.config.vocabulary,
      context: this.context,
      needLive: () => {
        this.needLive();
        needOpen();
      },
      prompt,
      constraint: () => this.grammars.constraint(options),
      adapters: () => this.parts.adapters.take(options.adapters),
      draft: () => this.draftOf(options),
    };
  }

  /**
   * Whether generations with this `speculate` could start: for servers, before requests come.
   * @throws RuntimeError BAD_OPTION, DISPOSED
   */
  needSpeculation(speculate: SpeculateOptions): void {
    this.needLive();
    needSpeculateOptions(speculate);
    needExactRows(this.parts.engine.backend);
    this.draftOf({ speculate });
  }

  private draftOf(options: GenerateOptions): DraftSource | undefined {
    const { speculate } = options;
    if (speculate?.kind !== 'draft') return undefined;
    if (speculate.model === this)
      throw new RuntimeError('BAD_OPTION', 'speculate.model must be another model, from loadModel');
    const draft = speculate.model.draftFor(this);
    needRepeatableDrafts(draft, this.parts, options);
    return draft;
  }

  /** Bytes of the weights. */
  get weightBytes(): number {
    return this.parts.weights.weightBytes;
  }

  /** This model as the draft model of `target`, for `speculate`. @throws RuntimeError BAD_OPTION, DISPOSED */
  draftFor(target: DraftTarget): DraftSource {
    this.needLive();
    needSameVocabulary(this, target);
    const { engine, deterministic } = this.parts;
    if (engine.hasStates)
      throw new RuntimeError(
        'BAD_OPTION',
        `${this.path}: layers of this model keep states, which refused drafts would cost it: it cannot be a draft model yet`,
      );
    return { engine, deterministic, context: this.context, cost: this.weightBytes / target.weightBytes };
  }

  private readonly needLive = (): void => {
    if (this.disposed) throw new RuntimeError('DISPOSED', `the model ${this.path} has been disposed`);
  };
}
