import { checkArgument, checkOptions, type Rule, rules, type Schema } from '@quern/core';
import { badArgument, badOption } from '../error.js';
import { AnswerSink } from './answer-sink.js';
import { type CallFormat, callFormats } from './call-formats.js';
import { type AnswerTool, newCallId } from './call-output.js';
import { Calls } from './calls.js';
import type { AnswerEvent } from './events.js';
import { Thoughts } from './thoughts.js';

export interface AnswerParserOptions {
  /** How the model writes calls; absent: calls stay text. */
  readonly calls?: CallFormat | undefined;
  /** 'parted': thoughts may begin the answer. 'open': the prompt has begun them. Absent: thoughts stay text. */
  readonly thinking?: 'parted' | 'open' | undefined;
  /** The tools that may be called. Where no marks announce calls, only their names make a call. */
  readonly tools?: readonly AnswerTool[] | undefined;
  /** The id of a new call; default: nine random letters and digits. */
  readonly newId?: (() => string) | undefined;
}

const namedTool: Rule<AnswerTool> = {
  must: 'a tool with a name',
  holds: (value): value is AnswerTool => rules.isObject(value) && typeof value.name === 'string',
};

/** What each option must be, and its default. */
export const answerParserSchema = {
  calls: { ...rules.oneOf(callFormats), about: 'how the model writes calls', absent: 'calls stay text' },
  thinking: {
    ...rules.oneOf(['parted', 'open'] as const),
    about: "thoughts are parted from the answer; 'open': the prompt has begun them",
    absent: 'thoughts stay text',
  },
  tools: {
    ...rules.listOf('tools, each with a name', namedTool),
    about: 'the tools that may be called',
    absent: 'not known',
  },
  newId: { ...rules.callback, about: 'gives the id of a new call', absent: 'nine random letters and digits' },
} as const satisfies Schema<AnswerParserOptions>;

/**
 * Parts the text of an answer, as it comes, into text, thoughts and calls of tools. However the text is cut into
 * chunks, the events say the same. White space beside thoughts and calls is dropped; all other text is kept.
 *
 * What looks like a call is text if it breaks off being one before its name and the start of its arguments are known.
 * Afterwards it stays a call: what follows and is no JSON becomes part of its arguments, as the model wrote it, up to
 * the family's closing mark or the end of the answer.
 */
export class AnswerParser {
  private readonly sink: AnswerSink;
  private readonly thoughts: Thoughts | undefined;

  /** @throws ChatTemplateError BAD_OPTION */
  constructor(options: AnswerParserOptions = {}) {
    checkOptions('AnswerParser', options, answerParserSchema, badOption);
    const { calls, thinking, tools, newId = newCallId } = options;
    this.sink = new AnswerSink(tools, newId);
    this.sink.calls = calls && new Calls(this.sink, calls);
    this.thoughts = thinking && new Thoughts(this.sink, thinking === 'open');
  }

  /** The events completed by a chunk of the answer. @throws ChatTemplateError BAD_ARGUMENT */
  push(text: string): AnswerEvent[] {
    checkArgument('AnswerParser.push', 'text', text, rules.text, badArgument);
    if (this.thoughts) this.thoughts.push(text);
    else this.sink.answer(text);
    return this.sink.take();
  }

  /** The answer has ended: the remaining events. */
  end(): AnswerEvent[] {
    this.thoughts?.end();
    this.sink.end();
    return this.sink.take();
  }
}
