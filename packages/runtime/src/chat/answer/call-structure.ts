import type { Structure } from '@quern/grammar';
import { escapeRegExp } from '../../escape-regexp.js';
import type { CallFormat } from './call-formats.js';
import type { AnswerTool } from './call-output.js';
import { isText } from './qwen-coder-calls.js';

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

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

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

interface Member {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required: boolean;
}

/** The arguments of a tool, by name; those that must be given first. */
function membersOf({ parameters }: AnswerTool): Member[] {
  const { properties, required, $defs } = record(parameters);
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const members = Object.entries(record(properties)).map(([name, schema]) => ({
    name,
    schema: { ...record(schema), ...($defs !== undefined && { $defs }) },
    required: needed.includes(name),
  }));
  return [...members.filter((member) => member.required), ...members.filter((member) => !member.required)];
}

/** Members with a separator between them; optional ones may be left out. */
function joined(
  members: readonly Member[],
  separator: string,
  write: (member: Member) => Structure,
): Structure {
  const needed = members.filter(({ required }) => required).map(write);
  const others = members.filter(({ required }) => !required).map(write);
  const behind = (from: number) =>
    others.slice(from).map((part) => optional(sequence(literal(separator), part)));
  if (needed.length > 0)
    return sequence(
      ...needed.flatMap((part, i) => (i === 0 ? [part] : [literal(separator), part])),
      ...behind(0),
    );
  return {
    oneOf: [literal(''), ...others.map((part, i) => sequence(part, ...behind(i + 1)))],
  };
}

/** As in OpenAI's API: a tool without `parameters` has none. */
const noParameters = { type: 'object', additionalProperties: false };

export const argumentsOf = ({ parameters }: AnswerTool): Structure => ({
  schema: parameters ?? noParameters,
});

const object =
  (key: string) =>
  (tool: AnswerTool): Structure =>
    sequence(literal(`{"name": ${JSON.stringify(tool.name)}, "${key}": `), argumentsOf(tool), literal('}'));

/** Behind the name. */
export const pythonArguments = (tool: AnswerTool): Structure =>
  sequence(
    literal('('),
    joined(membersOf(tool), ', ', ({ name, schema }) => sequence(literal(`${name}=`), { schema })),
    literal(')'),
  );

function coderParameter({ name, schema, required }: Member): Structure {
  const open = `<parameter=${name}>\n`;
  const value: Structure = isText(schema)
    ? { text: schema, without: ['</parameter>', '</tool_call>'] }
    : { schema };
  const written = sequence(literal(open), value, literal('\n</parameter>\n'));
  return required ? written : optional(written);
}

/** Behind the name and its bracket. */
export const coderParameters = (tool: AnswerTool): Structure =>
  sequence(literal('\n'), ...membersOf(tool).map(coderParameter), literal('</function>\n</tool_call>'));

/** How a family writes one call, and what stands around and between several. */
interface CallsForm {
  readonly call: (tool: AnswerTool) => Structure;
  readonly before: Structure;
  /** Undefined: one call only. */
  readonly between: string | undefined;
  readonly behind: string;
}

const FORMS: Readonly<Record<CallFormat, CallsForm>> = {
  hermes: {
    call: (tool) => sequence(literal('<tool_call>\n'), object('arguments')(tool), literal('\n</tool_call>')),
    before: literal(''),
    between: '\n',
    behind: '',
  },
  'qwen3-coder': {
    call: (tool) => sequence(literal(`<tool_call>\n<function=${tool.name}>`), coderParameters(tool)),
    before: literal(''),
    between: '\n',
    behind: '',
  },
  'llama3-json': { call: object('parameters'), before: literal(''), between: undefined, behind: '' },
  pythonic: {
    call: (tool) => sequence(literal(tool.name), pythonArguments(tool)),
    before: literal('['),
    between: ', ',
    behind: ']',
  },
  mistral: {
    call: object('arguments'),
    before: { regex: '\\[TOOL_CALLS\\] ?\\[' },
    between: ', ',
    behind: ']',
  },
  'mistral-args': {
    call: (tool) => sequence(literal(`[TOOL_CALLS]${tool.name}[ARGS]`), argumentsOf(tool)),
    before: literal(''),
    between: '',
    behind: '',
  },
};

/**
 * The structure of an answer that calls tools: what a grammar enforces for `toolChoice: 'required'` or a named tool.
 * Every text of it is read as calls by `AnswerParser` of the same family, with arguments that fit the tools' schemas.
 * Strings like `[TOOL_CALLS]` may be control tokens of the vocabulary: the grammar must allow those of `marksOf`.
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
