import { checkArgument, checkOptions, rules, type Schema } from '@quern/core';
import { BUILTIN_TEMPLATES, type BuiltinTemplate } from './builtin-templates.js';
import { badArgument, badOption, ChatTemplateError } from './error.js';
import { type Program, parseTemplate, runTemplate } from './jinja.js';
import { type ChatMessage, withParsedArguments } from './message.js';
import { needMessages } from './need-messages.js';

/** How the model spells its special tokens. */
export interface TemplateTokens {
  bosToken?: string | undefined;
  eosToken?: string | undefined;
}

export interface RenderOptions {
  /** End with the start of the assistant's answer; default true. */
  addGenerationPrompt?: boolean | undefined;
  /** Descriptions of the tools the model may call, in the form of the OpenAI API. */
  tools?: readonly unknown[] | undefined;
  /** More variables for the template, such as `enable_thinking`. */
  extra?: Readonly<Record<string, unknown>> | undefined;
  /** What `strftime_now` tells; default: now. */
  now?: Date | undefined;
}

/** Of each option: what it must be, and its default. */
export const templateTokensSchema = {
  bosToken: { ...rules.text, about: 'the beginning-of-sequence token', byDefault: '' },
  eosToken: { ...rules.text, about: 'the end-of-sequence token', byDefault: '' },
} as const satisfies Schema<TemplateTokens>;

export const renderSchema = {
  addGenerationPrompt: {
    ...rules.flag,
    about: "end with the start of the assistant's answer",
    byDefault: true,
  },
  tools: {
    ...rules.listOf('descriptions of tools', rules.object),
    about: 'the tools that the model may call, in the form of the OpenAI API',
    absent: 'none',
  },
  extra: {
    ...rules.object,
    about: 'more variables for the template, such as enable_thinking',
    absent: 'none',
  },
  now: {
    must: 'a valid Date',
    holds: (value): value is Date => value instanceof Date && !Number.isNaN(value.getTime()),
    about: 'what strftime_now tells',
    absent: 'the time of the call',
  },
} as const satisfies Schema<RenderOptions>;

/** Turns the messages of a chat into the text a model was trained on. */
export class ChatTemplate {
  private constructor(
    /** The template's own text. */
    readonly source: string,
    private readonly program: Program,
    private readonly tokens: TemplateTokens,
  ) {}

  /** `source`: Jinja, as in `tokenizer.chat_template`. @throws ChatTemplateError BAD_TEMPLATE, BAD_ARGUMENT, BAD_OPTION */
  static from(source: string, tokens: TemplateTokens = {}): ChatTemplate {
    checkArgument('ChatTemplate', 'source', source, rules.text, badArgument);
    checkOptions('ChatTemplate', tokens, templateTokensSchema, badOption);
    return new ChatTemplate(source, parseTemplate(source), tokens);
  }

  /** 'chatml', 'llama2' or 'llama3'. @throws ChatTemplateError UNKNOWN_BUILTIN, BAD_ARGUMENT, BAD_OPTION */
  static builtin(name: BuiltinTemplate, tokens: TemplateTokens = {}): ChatTemplate {
    checkArgument('ChatTemplate.builtin', 'name', name, rules.text, badArgument);
    if (Object.hasOwn(BUILTIN_TEMPLATES, name)) return ChatTemplate.from(BUILTIN_TEMPLATES[name], tokens);
    const names = Object.keys(BUILTIN_TEMPLATES).join(', ');
    throw new ChatTemplateError('UNKNOWN_BUILTIN', `no builtin chat template "${name}"; there are ${names}`);
  }

  /**
   * The prompt. Many templates write the beginning-of-sequence token themselves: when the text starts with it, encode
   * it with `addBos: false`, and always with `special: 'parse'`.
   *
   * @throws ChatTemplateError REFUSED, RENDER_FAILED, BAD_ARGUMENT or BAD_OPTION
   */
  render(messages: readonly ChatMessage[], options: RenderOptions = {}): string {
    needMessages('render', messages, badArgument);
    checkOptions('render', options, renderSchema, badOption);
    const variables = {
      documents: null,
      ...options.extra,
      messages: messages.map(withParsedArguments),
      tools: options.tools ?? null,
      add_generation_prompt: options.addGenerationPrompt ?? true,
      bos_token: this.tokens.bosToken ?? '',
      eos_token: this.tokens.eosToken ?? '',
    };
    return runTemplate(this.program, variables, options.now ?? new Date());
  }
}
