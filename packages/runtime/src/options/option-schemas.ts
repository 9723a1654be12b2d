import type { AnySchema } from '@quern/core';
import { syntheticEncoderSchema, syntheticSchema, syntheticSpeechSchema } from '@quern/models';
import { answerParserSchema } from '../chat/answer/answer-parser.js';
import { encodeChatSchema, renderSchema, templateTokensSchema } from '../chat/chat-template.js';
import { loadTemplateSchema } from '../chat/load.js';
import { describeDevicesSchema } from '../discovery/describe-devices.js';
import { findAllSchema, findBackendsSchema } from '../discovery/find-backends.js';
import { embedSchema, textsSchema } from '../embedding/embedder.js';
import { embedderSchema } from '../embedding/load-embedder.js';
import { samplingSchema } from '../engine/sampling/options.js';
import { perplexitySchema } from '../evaluation/perplexity.js';
import { chatSchema, generateSchema } from '../generation/generate-options.js';
import { infillSchema } from '../model/infill-prompt.js';
import { loadSchema } from '../model/load-options.js';
import { openSchema } from '../model/open-file.js';
import { planSchema } from '../planner/plan-request.js';
import { quantizeModelSchema } from '../quantize/quantize-model.js';
import { draftSchema, lookupSchema } from '../speculation/speculate-options.js';
import { speechLoadSchema } from '../speech/load-options.js';
import { transcribeSchema } from '../speech/options.js';
import { tokenizerSettingsSchema } from '../tokenizer/hugging-face.js';
import { decodeSchema, encodeInTurnsSchema, encodeSchema, tokenStreamSchema } from '../tokenizer/options.js';

/**
 * The options of all calls, by the name of their interface: the tables that the calls check with. For command lines and
 * forms.
 */
export const optionSchemas = {
  LoadOptions: loadSchema,
  GenerateOptions: generateSchema,
  SamplingOptions: samplingSchema,
  SpeculateByLookup: lookupSchema,
  SpeculateByDraft: draftSchema,
  ChatOptions: chatSchema,
  InfillOptions: infillSchema,
  EmbedderOptions: embedderSchema,
  EmbedOptions: embedSchema,
  TextsOptions: textsSchema,
  SpeechLoadOptions: speechLoadSchema,
  TranscribeOptions: transcribeSchema,
  OpenOptions: openSchema,
  QuantizeModelOptions: quantizeModelSchema,
  PerplexityOptions: perplexitySchema,
  FindBackendsOptions: findBackendsSchema,
  FindAllOptions: findAllSchema,
  DescribeDevicesOptions: describeDevicesSchema,
  PlanRequest: planSchema,
  EncodeOptions: encodeSchema,
  EncodeInTurnsOptions: encodeInTurnsSchema,
  DecodeOptions: decodeSchema,
  TokenStreamOptions: tokenStreamSchema,
  TokenizerSettings: tokenizerSettingsSchema,
  RenderOptions: renderSchema,
  EncodeChatOptions: encodeChatSchema,
  TemplateTokens: templateTokensSchema,
  LoadTemplateOptions: loadTemplateSchema,
  AnswerParserOptions: answerParserSchema,
  SyntheticOptions: syntheticSchema,
  SyntheticEncoderOptions: syntheticEncoderSchema,
  SyntheticSpeechOptions: syntheticSpeechSchema,
} as const satisfies Readonly<Record<string, AnySchema>>;
