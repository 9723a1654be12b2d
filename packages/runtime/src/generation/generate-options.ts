import type { EncodeChatOptions } from '../chat/index.js';
import { needWhole } from '../error.js';
import type { SamplingOptions } from '../sampling/index.js';
import { needSpeculateOptions, type SpeculateOptions } from '../speculation/speculate-options.js';

/** How a text is generated. Sampling options and their defaults are those of `Sampler`. */
export interface GenerateOptions extends SamplingOptions {
  /** Most tokens to generate; 0 only computes the prompt. Default: until the model ends or the context is full. */
  maxTokens?: number;
  /** The text ends before the first of these that appears in it. */
  stop?: readonly string[];
  /** Ends the generation with reason 'abort' and the text so far. */
  signal?: AbortSignal;
  /** Go on after an end token, which then counts as any other. */
  ignoreEos?: boolean;
  /** Guess tokens and check several in one step: faster where text repeats itself, or with a small model that guesses. */
  speculate?: SpeculateOptions;
  /**
   * Control tokens as text: their spellings in the prompt become them, and generated ones are shown. Default false; a
   * chat's prompt always has them, and its answer shows them only if this is true.
   */
  special?: boolean;
  /** While the prompt is computed, after each chunk: tokens done, of how many. */
  onProgress?: (progress: { readonly processed: number; readonly total: number }) => void;
}

/** How the answer to a chat is generated: with tools and variables for the model's template beside the rest. */
export interface ChatOptions extends GenerateOptions, Omit<EncodeChatOptions, 'addGenerationPrompt'> {}

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

/** @throws RuntimeError BAD_OPTION */
export function needGenerateOptions({ maxTokens, speculate }: GenerateOptions): void {
  if (maxTokens !== undefined) needWhole('maxTokens', maxTokens, 0);
  if (speculate !== undefined) needSpeculateOptions(speculate);
}
