import { checkOptions, type Refuse, rules, type Schema } from '@quern/core';
import { encodeChatSchema } from '../chat/chat-template.js';
import type { EncodeChatOptions } from '../chat/index.js';
import { badOption } from '../error.js';
import { SamplingError, type SamplingOptions } from '../sampling/index.js';
import { samplingSchema } from '../sampling/options.js';
import { needSpeculateOptions, type SpeculateOptions } from '../speculation/speculate-options.js';

/** How a text is generated. Sampling options and their defaults are those of `Sampler`. */
export interface GenerateOptions extends SamplingOptions {
  /** Most tokens to generate; 0 only computes the prompt. Default: until the model ends or the context is full. */
  maxTokens?: number | undefined;
  /** The text ends before the first of these that appears in it; one string is one of them. */
  stop?: string | readonly string[] | undefined;
  /** Ends the generation with reason 'abort' and the text so far. */
  signal?: AbortSignal | undefined;
  /** Go on after an end token, which then counts as any other. */
  ignoreEos?: boolean | undefined;
  /** Guess tokens and check several in one step: faster where text repeats itself, or with a small model that guesses. */
  speculate?: SpeculateOptions | undefined;
  /**
   * Control tokens as text: their spellings in the prompt become them, and generated ones are shown. Default false; a
   * chat's prompt always has them, and its answer shows them only if this is true.
   */
  special?: boolean | undefined;
  /**
   * Most milliseconds to wait for room in the cache, where others have it all; beyond them the generation fails with BUSY. 0 does
   * not wait. Default: as long as it takes; after a second a notice says what the call waits for.
   */
  maxWaitMs?: number | undefined;
  /** While the prompt is computed, after each chunk: tokens done, of how many. */
  onProgress?: ((progress: { readonly processed: number; readonly total: number }) => void) | undefined;
}

/** How the answer to a chat is generated: with tools and variables for the model's template beside the rest. */
export interface ChatOptions extends GenerateOptions, Omit<EncodeChatOptions, 'addGenerationPrompt'> {}

/** Of each option: what it must be, and its default. */
export const generateSchema = {
  maxTokens: {
    ...rules.whole(0),
    about: 'most tokens to generate; 0 only computes the prompt',
    absent: 'until the model ends or the context is full',
  },
  stop: {
    ...rules.either(rules.text, rules.texts),
    about: 'ends the text before the first of these that appears in it',
    absent: 'none',
  },
  signal: {
    ...rules.signal,
    about: "ends the generation with reason 'abort' and the text so far",
    absent: 'none',
  },
  ignoreEos: {
    ...rules.flag,
    about: 'go on after an end token, which then counts as any other',
    byDefault: false,
  },
  speculate: {
    ...rules.object,
    about: 'guess tokens and check several in one step: SpeculateByLookup or SpeculateByDraft',
    absent: 'one token per step',
  },
  special: {
    ...rules.flag,
    about: 'control tokens as text: read in the prompt, shown in what is generated',
    byDefault: false,
  },
  maxWaitMs: {
    ...rules.notNegative,
    about: 'most milliseconds to wait for room in the cache; 0 does not wait',
    absent: 'as long as it takes',
  },
  onProgress: {
    ...rules.callback,
    about: 'after each chunk of the prompt: tokens done, of how many',
    absent: 'none',
  },
  ...samplingSchema,
} as const satisfies Schema<GenerateOptions>;

const { addGenerationPrompt: _, ...chatEncode } = encodeChatSchema;

export const chatSchema = {
  ...generateSchema,
  ...chatEncode,
} as const satisfies Schema<ChatOptions>;

/** A piece of the text as it comes. */
export interface GenerationPiece {
  /** Whole characters; only the last piece may be empty. */
  readonly text: string;
  /** The tokens that completed it. */
  readonly tokens: readonly number[];
}

/** Why a generation ended: the model's end token, maxTokens, a stop string, the caller, or a full context. */
export type EndReason = 'eos' | 'length' | 'stop' | 'abort' | 'context';

/** A generation that has ended. */
export interface GenerationResult {
  /** All of the text, without the stop string. */
  readonly text: string;
  /** Every token generated, those of a stop string included, the end token not. */
  readonly tokens: readonly number[];
  /** 'abort' also where the reader stopped reading. */
  readonly reason: EndReason;
  readonly promptTokens: number;
  /** Tokens of the prompt that the cache still held from the session's last call. */
  readonly reusedTokens: number;
  /** Tokens that speculation guessed, and how many of them stayed; 0 without it. */
  readonly draftedTokens: number;
  readonly acceptedTokens: number;
  /** Time the model computed; what the reader does between pieces is not in it. */
  readonly prefillMs: number;
  readonly decodeMs: number;
  /** Tokens of the prompt computed, per second of prefill; 0 when there were none. */
  readonly prefillTokensPerSecond: number;
  /** Tokens after the first, per second of decode; 0 when there were none. */
  readonly decodeTokensPerSecond: number;
}

const refuse: Refuse = (message, name) =>
  Object.hasOwn(samplingSchema, name) ? new SamplingError('BAD_OPTION', message) : badOption(message, name);

/** @throws RuntimeError or SamplingError BAD_OPTION */
export function checkGenerate(options: GenerateOptions): void {
  checkOptions('generate', options, generateSchema, refuse);
  if (options.speculate !== undefined) needSpeculateOptions(options.speculate);
}

/** @throws RuntimeError or SamplingError BAD_OPTION */
export function checkChat(options: ChatOptions): void {
  checkOptions('chat', options, chatSchema, refuse);
  if (options.speculate !== undefined) needSpeculateOptions(options.speculate);
}
