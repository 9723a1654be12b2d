import { checkOptions, type ProgressListener, type Refuse, rules, type Schema } from '@quern/core';
import { encodeChatSchema } from '../chat/chat-template.js';
import type { EncodeChatOptions } from '../chat/index.js';
import type { PromptCounts } from '../engine/engine.js';
import type { TokenLogprobs } from '../engine/sampling/logprobs.js';
import { maxTopLogprobs } from '../engine/sampling/mode.js';
import { SamplingError, type SamplingOptions, samplingSchema } from '../engine/sampling/options.js';
import { badOption } from '../error.js';
import { type AdapterChoices, adaptersOption } from '../model/adapters.js';
import { needSpeculateOptions, type SpeculateOptions } from '../speculation/speculate-options.js';
import {
  type SchemaRules,
  type StructuredOptions,
  schemaRulesSchema,
  structuredSchema,
  structureOf,
} from '../structured/options.js';
import { type ToolOptions, toolSchema } from './tool-options.js';

/** Options of a generation. Sampling options and defaults: see `Sampler`. */
export interface GenerateOptions extends SamplingOptions, StructuredOptions, SchemaRules {
  /** Most tokens to generate; 0 only computes the prompt. Default: until the model ends or the context is full. */
  maxTokens?: number | undefined;
  /** The text ends before the first occurrence of any of these strings. */
  stop?: string | readonly string[] | undefined;
  /** Ends the generation with reason 'abort' and the text so far. */
  signal?: AbortSignal | undefined;
  /** Continue after an end token: it counts as any other token. */
  ignoreEos?: boolean | undefined;
  /** Draft tokens and check several in one step. Faster for repetitive text, or with a small draft model. */
  speculate?: SpeculateOptions | undefined;
  /**
   * Control tokens as text: the prompt's spellings of control tokens become control tokens, and generated ones are
   * shown. Default false. A chat's template always writes control tokens; this option decides only whether the answer
   * shows them.
   */
  special?: boolean | undefined;
  /**
   * Longest wait for room in the cache, in milliseconds; then the generation fails with BUSY. 0: no wait. Default: no
   * limit; after 1 s a notice says what the call waits for.
   */
  maxWaitMs?: number | undefined;
  /** Log-probabilities of each token, and of this many of the likeliest tokens at its place. 0 to 20; default: none. */
  logprobs?: number | undefined;
  /**
   * Calls with a higher priority start first, and take blocks of the cache from calls with a lower one. A finite number;
   * default 0.
   */
  priority?: number | undefined;
  /**
   * Calls of the same group share the device and the cache as one call would: between them, calls of others get their
   * turn. For requests of many texts, or one user's requests. Default: each call stands for itself.
   */
  group?: string | undefined;
  /**
   * Whether keys and values that the cache holds of other calls with the same prefix may be used, and those of this
   * call by others; default true. False computes the whole prompt: for measurements, and for texts that must not depend on
   * earlier calls to the last bit.
   */
  reuse?: boolean | undefined;
  /**
   * LoRA adapters of the model, by the names they were loaded with: one, or a list whose changes add up. Calls with
   * different adapters share steps. Default: none.
   */
  adapters?: AdapterChoices | undefined;
  /**
   * Called when the computing of the prompt begins, with its number of tokens and how many of them the cache holds; in a
   * chat whose tools run, for each answer.
   */
  onPrompt?: ((counts: PromptCounts) => void) | undefined;
  /** Called after each chunk of the prompt, with its tokens. */
  onProgress?: ProgressListener<'prefill'> | undefined;
}

/** Options of a chat's answer: `GenerateOptions`, tools, and variables for the template. */
export interface ChatOptions
  extends GenerateOptions,
    ToolOptions,
    Omit<EncodeChatOptions, 'addGenerationPrompt' | 'tools'> {}

/** What each option must be, and its default. */
export const generateSchema = {
  maxTokens: {
    ...rules.whole(0),
    about: 'most tokens to generate; 0 only computes the prompt',
    absent: 'until the model ends or the context is full',
  },
  stop: {
    ...rules.either(rules.text, rules.texts),
    about: 'stop strings: the text ends before the first occurrence of any of them',
    absent: 'none',
  },
  signal: {
    ...rules.signal,
    about: "ends the generation with reason 'abort' and the text so far",
    absent: 'none',
  },
  ignoreEos: {
    ...rules.flag,
    about: 'continue after an end token: it counts as any other token',
    byDefault: false,
  },
  speculate: {
    ...rules.object,
    about: 'draft tokens and check several in one step: SpeculateByLookup or SpeculateByDraft',
    absent: 'one token per step',
  },
  special: {
    ...rules.flag,
    about: 'control tokens as text: parsed in the prompt, shown in the generated text',
    byDefault: false,
  },
  maxWaitMs: {
    ...rules.notNegative,
    about: 'longest wait for room in the cache, in milliseconds; 0: no wait',
    absent: 'no limit',
  },
  logprobs: {
    ...rules.whole(0, maxTopLogprobs),
    about: 'log-probabilities of each token, and of this many of the likeliest tokens at its place',
    absent: 'none',
  },
  priority: {
    ...rules.finite,
    about: 'calls with a higher priority start first, and take room in the cache from lower ones',
    byDefault: 0,
  },
  group: {
    ...rules.text,
    about: 'calls of the same group share the device and the cache as one call would',
    absent: 'each call stands for itself',
  },
  reuse: {
    ...rules.flag,
    about: 'use what the cache holds of other calls with the same prefix',
    byDefault: true,
  },
  adapters: adaptersOption,
  onPrompt: {
    ...rules.callback,
    about: 'called with { promptTokens, cachedTokens } when the computing of the prompt begins',
    absent: 'none',
  },
  onProgress: {
    ...rules.callback,
    about: "called with { phase: 'prefill', done, total } after each chunk of the prompt: tokens",
    absent: 'none',
  },
  ...structuredSchema,
  ...schemaRulesSchema,
  ...samplingSchema,
} as const satisfies Schema<GenerateOptions>;

const { addGenerationPrompt: _, tools: __, ...chatEncode } = encodeChatSchema;

export const chatSchema = {
  ...generateSchema,
  ...toolSchema,
  ...chatEncode,
} as const satisfies Schema<ChatOptions>;

/** A piece of the generated text. */
export interface GenerationPiece {
  /** Whole characters. Empty only in the last piece. */
  readonly text: string;
  /** The tokens of this text. */
  readonly tokens: readonly number[];
  /** With `logprobs`: one entry per token. */
  readonly logprobs?: readonly TokenLogprobs[];
}

/**
 * Why a generation ended: the model's end token, maxTokens, a stop string, the caller, a full context, or (only a chat)
 * calls of tools that the caller is to run.
 */
export type EndReason = 'eos' | 'length' | 'stop' | 'abort' | 'context' | 'calls';

/** The result of an ended generation. */
export interface GenerationResult<Value = unknown, Text extends string = string> {
  /** The whole text, without the stop string. With `choices`: one of them, or a prefix of one where `reason` is not 'eos'. */
  readonly text: Text;
  /**
   * With `schema`: the value of the text; for a standard schema as its `validate` returns it. With `choices`: the text.
   * Undefined without both, and where the text is not whole (`reason`) or the schema's own checks refuse it.
   */
  readonly value: Value | undefined;
  /** Every generated token: includes the tokens of a stop string, not the end token. */
  readonly tokens: readonly number[];
  /** With `logprobs`: one entry per token. */
  readonly logprobs?: readonly TokenLogprobs[];
  /** 'abort' also where the reader stopped reading. */
  readonly reason: EndReason;
  /** With `reason` 'stop': the stop string that ended the text. */
  readonly stop?: string | undefined;
  readonly promptTokens: number;
  /** Prompt tokens that the cache held from other calls with the same prefix. */
  readonly cachedTokens: number;
  /** Drafted tokens; `acceptedTokens`: how many were kept. 0 without speculation. */
  readonly draftedTokens: number;
  readonly acceptedTokens: number;
  /** Compute time of the model, without the reader's time between pieces. */
  readonly prefillMs: number;
  readonly decodeMs: number;
  /** Computed prompt tokens per second of prefill; 0 for no tokens. */
  readonly prefillTokensPerSecond: number;
  /** Tokens after the first, per second of decode; 0 for no tokens. */
  readonly decodeTokensPerSecond: number;
}

const refuse: Refuse = (message, name) =>
  Object.hasOwn(samplingSchema, name) ? new SamplingError('BAD_OPTION', message) : badOption(message, name);

/** @throws RuntimeError BAD_OPTION for options that exclude each other */
function checkTogether(options: GenerateOptions): void {
  const name = structureOf(options);
  if (name && options.ignoreEos)
    throw badOption(
      `options ${name} and ignoreEos exclude each other: the text ends where it is whole`,
      name,
    );
}

/** @throws RuntimeError or SamplingError BAD_OPTION */
export function checkGenerate(options: GenerateOptions): void {
  checkOptions('generate', options, generateSchema, refuse);
  checkTogether(options);
  if (options.speculate !== undefined) needSpeculateOptions(options.speculate);
}

/** @throws RuntimeError or SamplingError BAD_OPTION */
export function checkChat(options: ChatOptions): void {
  checkOptions('chat', options, chatSchema, refuse);
  checkTogether(options);
  if (options.speculate !== undefined) needSpeculateOptions(options.speculate);
}
