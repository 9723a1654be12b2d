import type { LanguageModelV3CallOptions, SharedV3Warning } from '@ai-sdk/provider';
import type { ChatOptions } from '@quern/runtime';
import { type Names, ownOptions } from './own-options.js';
import { toolOptions } from './tool-options.js';

/** Options of `providerOptions.quern` for language models: the runtime's, as far as the SDK has none for them. */
export type LanguageModelOptions = Pick<
  ChatOptions,
  | 'callFormat'
  | 'choices'
  | 'extra'
  | 'ignoreEos'
  | 'keyOrder'
  | 'maxWaitMs'
  | 'minP'
  | 'parallelCalls'
  | 'penaltyWindow'
  | 'priority'
  | 'regex'
  | 'repetitionPenalty'
  | 'reuse'
  | 'thinking'
  | 'unknownFormats'
> & {
  /** GBNF. */
  readonly grammar?: string | undefined;
  readonly logitBias?: Readonly<Record<number, number>> | undefined;
};

const names: Names<LanguageModelOptions> = {
  callFormat: true,
  choices: true,
  extra: true,
  grammar: true,
  ignoreEos: true,
  keyOrder: true,
  logitBias: true,
  maxWaitMs: true,
  minP: true,
  parallelCalls: true,
  penaltyWindow: true,
  priority: true,
  regex: true,
  repetitionPenalty: true,
  reuse: true,
  thinking: true,
  unknownFormats: true,
};

/** The runtime's options for a call. @throws InvalidArgumentError for an unknown option of ours */
export function chatOptions(call: LanguageModelV3CallOptions): {
  readonly options: ChatOptions;
  readonly warnings: SharedV3Warning[];
} {
  const { tools, warnings } = toolOptions(call);
  if (call.includeRawChunks) warnings.push({ type: 'unsupported', feature: 'includeRawChunks' });
  const options = {
    maxTokens: call.maxOutputTokens,
    temperature: call.temperature,
    topP: call.topP,
    topK: call.topK,
    presencePenalty: call.presencePenalty,
    frequencyPenalty: call.frequencyPenalty,
    ...(call.presencePenalty || call.frequencyPenalty ? { penaltyWindow: -1 } : {}), // the SDK's count for the whole text
    seed: call.seed,
    stop: call.stopSequences,
    signal: call.abortSignal,
    ...structureOf(call),
    ...tools,
    ...ownOptions(call.providerOptions, names),
    onNotice: (message: string) => void warnings.push({ type: 'other', message }),
  };
  return { options, warnings };
}

/** JSON of any form is an object, as OpenAI's json_object. */
const structureOf = ({ responseFormat }: LanguageModelV3CallOptions): ChatOptions =>
  responseFormat?.type === 'json' ? { schema: { ...(responseFormat.schema ?? { type: 'object' }) } } : {};
