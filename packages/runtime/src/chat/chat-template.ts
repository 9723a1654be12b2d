import { checkArgument, checkOptions, type Rule, rules, type Schema } from '@quern/core';
import { Converter, concat, Text, type Value } from '../jinja/index.js';
import { giveNotice } from '../notice.js';
import type { EncodeOptions, Tokenizer } from '../tokenizer/index.js';
import { callFormatOf, knowsThinking, opensThinking, thinkingVariable } from './answer/call-formats.js';
import { BUILTIN_TEMPLATES, type BuiltinTemplate } from './builtin-templates.js';
import { Capabilities } from './capabilities.js';
import { adaptMessages, needParts } from './content.js';
import { badArgument, badOption, ChatTemplateError } from './error.js';
import { needNothingIgnored } from './ignored.js';
import { markTyped } from './mark-typed.js';
import { type ChatMessage, withParsedArguments } from './message.js';
import { namingMessage } from './naming-message.js';
import { needMessages } from './need-messages.js';
import type { RenderOptions } from './render-options.js';
import { rolesOf } from './roles.js';
import { type Program, parse, run } from './run-template.js';
import { mergedSystem, placedSystem } from './system-messages.js';

/** The model's spellings of its special tokens. */
export interface TemplateTokens {
  bosToken?: string | undefined;
  eosToken?: string | undefined;
  /** Other special tokens, by their names in templates: `unk_token`, `pad_token`, `additional_special_tokens` … */
  others?: Readonly<Record<string, string | readonly string[]>> | undefined;
}

/** What each option must be, and its default. */
export const templateTokensSchema = {
  bosToken: { ...rules.text, about: 'the beginning-of-sequence token', byDefault: '' },
  eosToken: { ...rules.text, about: 'the end-of-sequence token', byDefault: '' },
  others: { ...rules.object, about: 'the other special tokens, by their names in templates', absent: 'none' },
} as const satisfies Schema<TemplateTokens>;

export const renderSchema = {
  addGenerationPrompt: {
    ...rules.flag,
    about: "end the prompt with the start of the assistant's answer",
    byDefault: true,
  },
  tools: {
    ...rules.listOf('descriptions of tools', rules.object),
    about: 'tools that the model may call, in the format of the OpenAI API',
    absent: 'none',
  },
  extra: {
    ...rules.object,
    about: 'more variables for the template, such as enable_thinking',
    absent: 'none',
  },
  roles: {
    ...rules.texts,
    about:
      'further roles of messages: those that the model was trained with, and that its template does not name',
    absent: 'none',
  },
  answerStart: {
    ...rules.text,
    about: 'the start of the answer, which the model continues',
    byDefault: '',
  },
  onNotice: {
    ...rules.callback,
    about: 'called with notices about this call',
    absent: "the model's listener, else process warnings",
  },
  now: {
    must: 'a valid Date',
    holds: (value): value is Date => value instanceof Date && !Number.isNaN(value.getTime()),
    about: 'the time for strftime_now',
    absent: 'the time of the call',
  },
} as const satisfies Schema<RenderOptions>;

export interface EncodeChatOptions extends RenderOptions {
  /**
   * Whether spellings of control tokens in messages, tools and `extra` become control tokens. Default false:
   * "<|im_end|>" in a message is text; only the template, the roles and the tokenizer's own special tokens make control
   * tokens.
   */
  specialContent?: boolean | undefined;
}

export const encodeChatSchema = {
  ...renderSchema,
  specialContent: {
    ...rules.flag,
    about: 'spellings of control tokens in messages, tools and extra become control tokens',
    byDefault: false,
  },
} as const satisfies Schema<EncodeChatOptions>;

export const tokenizerRule: Rule<Tokenizer> = {
  must: 'a tokenizer',
  holds: (value): value is Tokenizer => rules.isObject(value) && typeof value.tokenText === 'function',
};

/** A prompt, and the `Tokenizer.encode` options for it. */
export interface ChatPrompt {
  readonly text: string;
  readonly encoding: EncodeOptions;
}

/** Renders the messages of a chat as the prompt format of the model's training. */
export class ChatTemplate {
  private readonly capabilities = new Capabilities(
    (messages, options) => this.write(messages, options).value,
  );

  /** Notices of this template so far. */
  private readonly given = new Set<string>();

  /** The roles that messages may have. */
  readonly roles: readonly string[];

  private constructor(
    /** The template's source text. */
    readonly source: string,
    private readonly program: Program,
    private readonly tokens: TemplateTokens,
  ) {
    this.roles = rolesOf(source);
  }

  /** The variable that switches thoughts on and off, for `extra`; undefined where the template has none. */
  get thinkingVariable(): string | undefined {
    return thinkingVariable(this.source);
  }

  /** `source`: Jinja, as in `tokenizer.chat_template`. @throws ChatTemplateError BAD_TEMPLATE, BAD_ARGUMENT, BAD_OPTION */
  static from(source: string, tokens: TemplateTokens = {}): ChatTemplate {
    checkArgument('ChatTemplate', 'source', source, rules.text, badArgument);
    checkOptions('ChatTemplate', tokens, templateTokensSchema, badOption);
    return new ChatTemplate(source, parse(source), tokens);
  }

  /** Whether the template writes tools, and the form of their calls is known. */
  get takesTools(): boolean {
    return callFormatOf(this.source) !== undefined && this.capabilities.takesTools();
  }

  /** Whether the model thinks before it answers: 'optional' as `thinking` of `ChatOptions` says. */
  get thinking(): 'never' | 'always' | 'optional' {
    if (thinkingVariable(this.source) !== undefined) return 'optional';
    return knowsThinking(this.source) ? 'always' : 'never';
  }

  /** One of `builtinTemplates`. @throws ChatTemplateError UNKNOWN_BUILTIN, BAD_ARGUMENT, BAD_OPTION */
  static builtin(name: BuiltinTemplate, tokens: TemplateTokens = {}): ChatTemplate {
    checkArgument('ChatTemplate.builtin', 'name', name, rules.text, badArgument);
    if (Object.hasOwn(BUILTIN_TEMPLATES, name)) return ChatTemplate.from(BUILTIN_TEMPLATES[name], tokens);
    const names = Object.keys(BUILTIN_TEMPLATES).join(', ');
    throw new ChatTemplateError('UNKNOWN_BUILTIN', `no builtin chat template "${name}"; there are ${names}`);
  }

  /**
   * The token ids of the prompt, without an end-of-sequence token. Text of messages never becomes a control token,
   * unless `specialContent` is true.
   *
   *
   * @throws ChatTemplateError REFUSED, RENDER_FAILED, LIMIT, UNSUPPORTED_CONTENT, IGNORED, BAD_ARGUMENT or BAD_OPTION
   */
  encode(messages: readonly ChatMessage[], tokenizer: Tokenizer, options: EncodeChatOptions = {}): number[] {
    const { text, encoding } = this.prompt(messages, tokenizer, options);
    return tokenizer.encode(text, encoding);
  }

  /**
   * The text that `encode` encodes, and its options. Each typed spelling of a control token contains a mark, so that it
   * stays text.
   *
   *
   * @param look receives the text before the search for spellings; may throw, for example by its length
   */
  prompt(
    messages: readonly ChatMessage[],
    tokenizer: Tokenizer,
    options: EncodeChatOptions = {},
    look: (text: string) => void = () => {},
  ): ChatPrompt {
    checkOptions('ChatTemplate', options, encodeChatSchema, badOption);
    needMessages('ChatTemplate', messages, badArgument, rolesFor(this, options));
    checkArgument('ChatTemplate', 'tokenizer', tokenizer, tokenizerRule, badArgument);
    const text = this.text(messages, options);
    look(text.value);
    const rendered = options.specialContent ? new Text(text.value) : text;
    const { text: marked, mark } = markTyped(rendered, tokenizer);
    const noBos = beginsWithBos(rendered, tokenizer) && { addBos: false };
    return { text: marked, encoding: { special: 'parse', mark, addEos: false, ...noBos } };
  }

  /**
   * The prompt as text, for people. It does not distinguish the template's control tokens from a message's text. Build
   * model prompts with `encode`: encoding this text with `special: 'parse'` lets messages write control tokens.
   *
   *
   * @throws ChatTemplateError REFUSED, RENDER_FAILED, LIMIT, UNSUPPORTED_CONTENT, IGNORED, BAD_ARGUMENT or BAD_OPTION
   */
  render(messages: readonly ChatMessage[], options: RenderOptions = {}): string {
    checkOptions('render', options, renderSchema, badOption);
    needMessages('render', messages, badArgument, rolesFor(this, options));
    return this.text(messages, options).value;
  }

  private text(messages: readonly ChatMessage[], options: RenderOptions): Text {
    const placed = placedSystem(messages, this.capabilities, () => this.notice(mergedSystem, options));
    const adapted = adaptMessages(placed.map(withParsedArguments), this.capabilities);
    const text = namingMessage(
      adapted,
      (some) => this.write(some, options),
      (index) => Math.max(0, messages.indexOf(placed[index]!)),
    );
    const again = (some: readonly ChatMessage[], others: RenderOptions) => this.write(some, others).value;
    needParts(adapted, text.value, (some) => again(some, options));
    needNothingIgnored(adapted, options, text.value, again, this.capabilities);
    return options.answerStart ? begunAnswer(text, options.answerStart) : text;
  }

  private notice(text: string, { onNotice }: RenderOptions): void {
    if (onNotice) onNotice(text);
    else if (!this.given.has(text)) giveNotice(undefined, text);
    this.given.add(text);
  }

  private write(messages: readonly ChatMessage[], options: RenderOptions): Text {
    const now = options.now ?? new Date();
    return run(
      this.program,
      (converter) => this.variables(converter, messages, options),
      new Converter(),
      now,
    );
  }

  private variables(
    converter: Converter,
    messages: readonly ChatMessage[],
    { extra = {}, tools, addGenerationPrompt }: RenderOptions,
  ): ReadonlyMap<string, Value> {
    const { bosToken = '', eosToken = '', others = {} } = this.tokens;
    const own = {
      ...others,
      add_generation_prompt: addGenerationPrompt ?? true,
      bos_token: bosToken,
      eos_token: eosToken,
    };
    const convert = (values: object, typed: boolean) =>
      Object.entries(values).map(([name, value]) => [name, converter.convert(value, typed)] as const);
    return new Map<string, Value>([
      ...convert({ documents: null, ...extra }, true),
      ...convert(own, false),
      ...convert({ tools: tools ?? null }, true),
      ['messages', messages.map((message) => converter.dict(message, (field) => field !== 'role', false))],
    ]);
  }
}

/** The roles that the messages of a call may have. */
export const rolesFor = (
  { roles }: ChatTemplate,
  options: Pick<RenderOptions, 'roles'>,
): readonly string[] => [...roles, ...(options.roles ?? [])];

/** The prompt with the start of the answer. Thoughts come before an answer: open ones are closed. */
function begunAnswer(prompt: Text, start: string): Text {
  const behind = opensThinking(prompt.value) ? concat(prompt, new Text('\n</think>\n\n')) : prompt;
  return concat(behind, Text.typed(start));
}

/** Whether the template itself wrote the beginning-of-sequence token. */
function beginsWithBos({ value, typed }: Text, tokenizer: Tokenizer): boolean {
  const bos = tokenizer.bos === undefined ? '' : tokenizer.tokenText(tokenizer.bos);
  return bos !== '' && value.startsWith(bos) && (typed[0] ?? bos.length) >= bos.length;
}
