import { yieldToEventLoop } from '@quern/core';
import {
  knowsThinking,
  marksOf,
  opensThinking,
  takesOneCall,
  thinkingMarks,
} from '../chat/answer/call-formats.js';
import { argumentStructures, callStructure } from '../chat/answer/call-structure.js';
import {
  AnswerParser,
  type AnswerParserOptions,
  type CallFormat,
  callFormatOf,
  callFormats,
} from '../chat/answer/index.js';
import { longestHead, strictCalls } from '../chat/answer/strict-calls.js';
import type { ChatMessage, ChatTemplate, EncodeChatOptions } from '../chat/index.js';
import { badOption } from '../error.js';
import type { RoundParts } from '../generation/chat-round.js';
import type { ChatSource } from '../generation/chat-run.js';
import type { ChatOptions } from '../generation/generate-options.js';
import type { GenerationSource, Prompt } from '../generation/generation-source.js';
import { Run } from '../generation/run.js';
import { chosenName, type NamedTool, namedTools, type ToolChoice } from '../generation/tool-options.js';
import type { NoticeListener } from '../notice.js';
import type { CallsRules } from '../structured/grammars.js';
import { structureOf } from '../structured/options.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { chatPrompt, type PromptRules } from './prompt.js';

/** The parts of a model that answer a chat. */
export interface ChatModel {
  readonly template: ChatTemplate;
  readonly rules: PromptRules;
  readonly tools: readonly NamedTool[];
  readonly onNotice?: NoticeListener;
  /** `calls`: what an answer must be for its calls; undefined for anything. Asked for when the prompt is known. */
  source(prompt: () => Promise<Prompt>, calls: () => CallsRules | undefined): GenerationSource;
}

/** The tools that the model may call. @throws RuntimeError BAD_OPTION, also for a choice that does not fit them */
export function chosenTools(options: ChatOptions): readonly NamedTool[] {
  const given = namedTools(options);
  const tools = options.toolChoice === 'none' ? [] : given;
  needChoice(options, tools);
  return tools;
}

/** The source of a chat's answers. The options are checked. @throws RuntimeError BAD_OPTION */
export function chatSource<Value, Text extends string>(
  model: ChatModel,
  options: ChatOptions,
): ChatSource<Value, Text> {
  const { template, rules, tools, onNotice } = model;
  const calls = formatOf(template, options, tools);
  const { answerStart = '' } = options;
  const thinking = structureOf(options) === undefined && answerStart === '' && knowsThinking(template.source);
  const shown = shownTokens(rules.tokenizer, [
    ...(calls ? marksOf(calls) : []),
    ...(thinking ? thinkingMarks : []),
  ]);
  const encode = { ...encodeOptions(template, options, tools), onNotice: options.onNotice ?? onNotice };

  const begin = async (
    messages: readonly ChatMessage[],
    first: boolean,
  ): Promise<RoundParts<Value, Text>> => {
    if (first) await yieldToEventLoop(); // the first use of a tokenizer takes a while
    let thoughts: AnswerParserOptions['thinking'];
    const prompt = async () => {
      const { text, ...rest } = await chatPrompt(template, messages, encode, rules);
      if (calls === undefined && tools.length > 0 && options.callFormat !== 'none') throw unknownFormat();
      if (thinking) thoughts = opensThinking(text) ? 'open' : 'parted';
      return { ...rest, shown };
    };
    const structure = () => {
      const wanted = enforced(first ? options.toolChoice : 'auto', options, calls, tools, thoughts);
      return wanted && { ...wanted, marks: shown };
    };
    const run = await Run.begin<Value, Text>(model.source(prompt, structure), options);
    const known = tools.length > 0 && { tools };
    return { run, start: answerStart, parser: new AnswerParser({ calls, thinking: thoughts, ...known }) };
  };
  return { tools, oneCallPerMessage: calls !== undefined && takesOneCall(calls), onNotice, begin };
}

/** @throws RuntimeError BAD_OPTION for a choice that the tools or other options do not allow */
function needChoice(options: ChatOptions, tools: readonly NamedTool[]): void {
  const { toolChoice = 'auto' } = options;
  const structure = structureOf(options);
  const excluded = tools.length > 0 ? 'tools' : structure;
  if (options.answerStart && excluded)
    throw badOption(
      `options answerStart and ${excluded} exclude each other: the start of an answer must be plain text`,
      'answerStart',
    );
  if (structure && tools.length > 0)
    throw badOption(
      `options ${structure} and tools exclude each other, except with toolChoice: 'none'`,
      structure,
    );
  const chosen = chosenName(toolChoice);
  if (chosen !== undefined && !tools.some(({ name }) => name === chosen))
    throw badOption(`toolChoice names '${chosen}', which is not among the tools`, 'toolChoice');
  if (toolChoice === 'required' && tools.length === 0)
    throw badOption("toolChoice: 'required' needs tools", 'toolChoice');
  if (toolChoice !== 'auto' && toolChoice !== 'none' && options.ignoreEos)
    throw badOption(
      "options toolChoice and ignoreEos exclude each other, except for toolChoice 'auto' and 'none'",
      'toolChoice',
    );
}

/** What is enforced of an answer: calls, or the arguments of strict tools. */
function enforced(
  choice: ToolChoice = 'auto',
  { parallelCalls: parallel }: ChatOptions,
  calls: CallFormat | undefined,
  tools: readonly NamedTool[],
  thinking: AnswerParserOptions['thinking'],
): Omit<CallsRules, 'marks'> | undefined {
  const isForced = choice !== 'auto' && choice !== 'none';
  const strict = tools.filter((tool) => tool.strict);
  if (!isForced && strict.length === 0) return undefined;
  if (calls === undefined)
    throw badOption(
      "callFormat: 'none' cannot enforce calls: leave out toolChoice and strict, or choose a format",
      'callFormat',
    );
  if (isForced) {
    const name = chosenName(choice);
    const one = name === undefined ? 'required' : { name };
    const whole = callStructure(calls, tools, { choice: one, parallel, thinking });
    const chosen = name === undefined ? tools : tools.filter((tool) => tool.name === name);
    return { structure: { whole }, parts: argumentStructures(calls, chosen) };
  }
  const lazy = { triggers: strictCalls(calls, strict), longest: longestHead(strict), thinking };
  return { structure: { lazy }, parts: argumentStructures(calls, strict) };
}

/** How the answer writes calls; undefined where they stay text. */
function formatOf(
  { source }: ChatTemplate,
  { callFormat }: ChatOptions,
  tools: readonly NamedTool[],
): CallFormat | undefined {
  if (callFormat !== undefined) return callFormat === 'none' ? undefined : callFormat;
  return tools.length > 0 ? callFormatOf(source) : undefined;
}

const unknownFormat = () =>
  badOption(
    `the chat template of this model does not show how it writes calls of tools: set callFormat to ${callFormats.join(', ')}, or to none to get them as text`,
    'callFormat',
  );

/** @throws RuntimeError BAD_OPTION where the template has no switch for thinking */
function encodeOptions(
  { thinkingVariable: variable }: ChatTemplate,
  { tools: _, ...options }: ChatOptions,
  tools: readonly NamedTool[],
): EncodeChatOptions {
  const described = tools.length > 0 && { tools: tools.map((tool) => tool.described) };
  if (options.thinking === undefined) return { ...options, ...described };
  if (variable === undefined)
    throw badOption(
      'the chat template of this model has no switch for thinking (enable_thinking)',
      'thinking',
    );
  return { ...options, ...described, extra: { ...options.extra, [variable]: options.thinking } };
}

/** Those marks that are control tokens. */
function shownTokens(tokenizer: Tokenizer | undefined, marks: readonly string[]): ReadonlySet<number> {
  const shown = new Set<number>();
  for (const mark of tokenizer ? marks : []) {
    const ids = tokenizer!.encode(mark, { special: 'parse', addBos: false, addEos: false });
    if (ids.length === 1 && tokenizer!.isControl(ids[0]!) && tokenizer!.tokenText(ids[0]!) === mark)
      shown.add(ids[0]!);
  }
  return shown;
}
