import type { Structure } from '@quern/grammar';
import { escapeRegExp } from '../../escape-regexp.js';
import type { CallFormat } from './call-formats.js';
import type { AnswerTool } from './call-output.js';
import { isText } from './coder-value.js';
import { type Member, membersOf, needNames, objectSchema } from './tool-arguments.js';

export interface CallStructureOptions {
  /** At least one call of any tool, or exactly one of this tool. */
  readonly choice: 'required' | { readonly name: string };
  /** Several calls, where the family writes several; default true. */
  readonly parallel?: boolean | undefined;
  /** Thoughts before the calls: 'parted' allows them, 'open' ends those that the prompt has begun. Default: none. */
  readonly thinking?: 'parted' | 'open' | undefined;
}

export const literal = (text: string): Structure => ({ literal: text });
export const sequence = (...parts: readonly Structure[]): Structure => ({ sequence: parts });
const optional = (part: Structure): Structure => ({ repeat: part, least: 0, most: 1 });

/**
 * A pattern for any text up to and with the first `mark`. The mark's first character must not come in it again: then
 * whatever follows a part of the mark is that character once more, or ends the part.
 */
export function upTo(mark: string): Structure {
  const first = escapeRegExp(mark[0]!);
  const starts = Array.from(mark.slice(0, -1), (_, i) => escapeRegExp(mark.slice(0, i + 1)));
  const broken = starts.map((start, i) => `${start}[^${first}${escapeRegExp(mark[i + 1]!)}]`);
  const part = starts.length > 0 ? `(?:${starts.reverse().join('|')})*` : '';
  return { regex: `(?:[^${first}]|${part}(?:${broken.join('|')}))*${part}${escapeRegExp(mark)}` };
}

/** Members in their order with a separator between them; optional ones may be left out. */
function joined(
  members: readonly Member[],
  separator: string,
  write: (member: Member) => Structure,
): Structure {
  const parts = members.map(write);
  const behind = parts.map((part, i) => {
    const more = sequence(literal(separator), part);
    return members[i]!.required ? more : optional(more);
  });
  const needed = members.findIndex(({ required }) => required);
  const firsts = needed < 0 ? parts : parts.slice(0, needed + 1);
  const begun = firsts.map((part, i) => sequence(part, ...behind.slice(i + 1)));
  return { oneOf: needed < 0 ? [literal(''), ...begun] : begun };
}

export const argumentsOf = (tool: AnswerTool): Structure => ({
  schema: objectSchema(tool),
  ...formatsOf(tool),
});

const formatsOf = ({ strict }: AnswerTool) => (strict ? ({ unknownFormats: 'refuse' } as const) : {});

const object =
  (key: string) =>
  (tool: AnswerTool): Structure =>
    sequence(literal(`{"name": ${JSON.stringify(tool.name)}, "${key}": `), argumentsOf(tool), literal('}'));

const identifier = /^[A-Za-z_][\w.-]*$/;

/** Behind the name. */
export function pythonArguments(tool: AnswerTool): Structure {
  const members = membersOf(tool);
  needNames(tool, [tool.name, ...members.map(({ name }) => name)], identifier, 'pythonic');
  const written = joined(members, ', ', ({ name, schema }) =>
    sequence(literal(`${name}=`), { schema, ...formatsOf(tool) }),
  );
  return sequence(literal('('), written, literal(')'));
}

/** What the parser takes for the end of a text. */
const coderMarks = ['</parameter>', '</tool_call>', '<parameter=', '</function>'];

/** A text that is no JSON. */
const notJson = { pattern: '^[^\\s\\d"{\\[-]', not: { enum: ['true', 'false', 'null'] } };

/** Strings as they are, all else as JSON. */
function coderValue(schema: Member['schema'], tool: AnswerTool): Structure {
  const formats = formatsOf(tool);
  if (isText(schema)) return { text: schema, without: coderMarks, ...formats };
  if (!mayBeText(schema)) return { schema, ...formats };
  const conditions = Array.isArray(schema.allOf) ? schema.allOf : [];
  const text = { ...schema, allOf: [...conditions, notJson] };
  return {
    oneOf: [
      { schema, ...formats },
      { text, without: coderMarks, ...formats },
    ],
  };
}

/** Whether a string that is no JSON fits, among others. */
function mayBeText({ type, enum: values, const: value, anyOf, oneOf }: Member['schema']): boolean {
  const listed: readonly unknown[] = Array.isArray(values) ? values : [value];
  if (
    listed.some(
      (each) => typeof each === 'string' && /^[A-Za-z]/.test(each) && !/^(true|false|null)$/.test(each),
    )
  )
    return true;
  if (Array.isArray(type)) return type.includes('string') && values === undefined;
  const choices: readonly unknown[] = [anyOf, oneOf].flat();
  return choices.some((each) => typeof each === 'object' && each !== null && 'type' in each && isText(each));
}

const coderParameter =
  (tool: AnswerTool) =>
  ({ name, schema, required }: Member): Structure => {
    const value = coderValue(schema, tool);
    const written = sequence(literal(`<parameter=${name}>\n`), value, literal('\n</parameter>\n'));
    return required ? written : optional(written);
  };

/** Behind the name and its bracket. */
export function coderParameters(tool: AnswerTool): Structure {
  const members = membersOf(tool);
  needNames(tool, [tool.name, ...members.map(({ name }) => name)], /^[^<>\n]+$/, 'qwen3-coder');
  return sequence(literal('\n'), ...members.map(coderParameter(tool)), literal('</function>\n</tool_call>'));
}

/** Behind the name of `[TOOL_CALLS]name[ARGS]{…}`. */
export function mistralArguments(tool: AnswerTool): Structure {
  needNames(tool, [tool.name], /^[^\s[\]{]+$/, 'mistral-args');
  return argumentsOf(tool);
}

/** How a family writes one call, and what stands around and between several. */
interface CallsForm {
  readonly call: (tool: AnswerTool) => Structure;
  /** The part of a call behind the tool's name. */
  readonly args: (tool: AnswerTool) => Structure;
  readonly before: Structure;
  /** Undefined: one call only. */
  readonly between: string | undefined;
  readonly behind: string;
}

const none = literal('');

const FORMS: Readonly<Record<CallFormat, CallsForm>> = {
  hermes: {
    call: (tool) => sequence(literal('<tool_call>\n'), object('arguments')(tool), literal('\n</tool_call>')),
    args: argumentsOf,
    before: none,
    between: '\n',
    behind: '',
  },
  'qwen3-coder': {
    call: (tool) => sequence(literal(`<tool_call>\n<function=${tool.name}>`), coderParameters(tool)),
    args: coderParameters,
    before: none,
    between: '\n',
    behind: '',
  },
  'llama3-json': {
    call: object('parameters'),
    args: argumentsOf,
    before: none,
    between: undefined,
    behind: '',
  },
  pythonic: {
    call: (tool) => sequence(literal(tool.name), pythonArguments(tool)),
    args: pythonArguments,
    before: literal('['),
    between: ', ',
    behind: ']',
  },
  mistral: {
    call: object('arguments'),
    args: argumentsOf,
    before: { regex: '\\[TOOL_CALLS\\] ?\\[' },
    between: ', ',
    behind: ']',
  },
  'mistral-args': {
    call: (tool) => sequence(literal(`[TOOL_CALLS]${tool.name}[ARGS]`), mistralArguments(tool)),
    args: mistralArguments,
    before: none,
    between: '',
    behind: '',
  },
};

/** What a family writes behind the names of tools, by tool. @throws RuntimeError BAD_GRAMMAR */
export const argumentStructures = (
  format: CallFormat,
  tools: readonly AnswerTool[],
): ReadonlyMap<string, Structure> => new Map(tools.map((tool) => [tool.name, FORMS[format].args(tool)]));

/**
 * The structure of an answer that calls tools: what a grammar enforces for `toolChoice: 'required'` or a named tool.
 * Every text of it is read as calls by `AnswerParser` of the same family, with arguments that fit the tools' schemas.
 * Strings like `[TOOL_CALLS]` may be control tokens of the vocabulary: the grammar must allow those of `marksOf`.
 * @throws RuntimeError BAD_GRAMMAR for schemas and names that the family cannot write
 */
export function callStructure(
  format: CallFormat,
  tools: readonly AnswerTool[],
  { choice, parallel = true, thinking }: CallStructureOptions,
): Structure {
  const { call, before, between, behind } = FORMS[format];
  const allowed = choice === 'required' ? tools : tools.filter(({ name }) => name === choice.name);
  const one: Structure = { oneOf: allowed.map(call) };
  const several = choice === 'required' && parallel && between !== undefined;
  const others = several ? [{ repeat: sequence(literal(between), one), least: 0 }] : [];
  const calls = sequence(before, one, ...others, literal(behind));
  if (thinking === undefined) return calls;
  const thoughts = sequence(upTo('</think>'), { regex: '\\s*' });
  return sequence(thinking === 'open' ? thoughts : optional(sequence(literal('<think>'), thoughts)), calls);
}
