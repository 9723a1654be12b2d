import type { Structure } from '@quern/grammar';
import { escapeRegExp } from '../../escape-regexp.js';
import type { CallFormat } from './call-formats.js';
import type { AnswerTool } from './call-output.js';
import { argumentsOf, coderParameters, literal, pythonArguments, sequence } from './call-structure.js';

/** Where a call may be told from other text, and what must follow. */
export interface StrictCall {
  /** Over UTF-8 bytes, one character each. Its first group, or '', is a key of `behind`. */
  readonly pattern: RegExp;
  /** What follows: a call of a strict tool or another name, then anything. */
  readonly behind: ReadonlyMap<string, Structure>;
  /** Counts only behind another call. */
  readonly next: boolean;
}

/** White space of JSON, in patterns. */
const spaces = '[ \\t\\n\\r]*';
const space = '[ \\t\\n\\r]{0,2}';
const thenAny = (...parts: readonly Structure[]): Structure => sequence(...parts, { regex: '[\\s\\S]*' });
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

/** Mistral's ids of calls stand behind the arguments. */
const id = `"id"${space}:${space}"[^"\\\\\\n]{0,64}"`;

/** A member of JSON that is a string or a number. */
const member = `"[^"\\\\]*"${spaces}:${spaces}(?:"[^"\\\\]*"|-?\\d+)`;

/** How names are written that `close` ends. */
interface ClosedNames {
  readonly close: string;
  /** Pattern of their characters. */
  readonly characters: string;
}
const inQuotes: ClosedNames = { close: '"', characters: '(?:[^"\\\\\\n]|\\\\[^\\n])*' };
const inBrackets: ClosedNames = { close: '>', characters: '[^>\\n]*' };

/**
 * The grammar begins before the name, so that a token that holds more than the name's end is seen too. A line break also
 * ends names of nobody.
 */
function closedNames(
  before: string,
  { close, characters }: ClosedNames,
  tools: readonly AnswerTool[],
  spell: (name: string) => string,
  behind: (tool: AnswerTool) => Structure,
): StrictCall {
  const names = tools.map(({ name }) => spell(name));
  const calls = tools.map((tool, i) => thenAny(literal(names[i]! + close), behind(tool)));
  const others = { type: 'string', pattern: `^${characters}$`, not: { enum: names } };
  const grammar = { oneOf: [...calls, thenAny({ text: others, without: [] }, { regex: `[${close}\\n]` })] };
  return { pattern: new RegExp(before, 'g'), behind: new Map([['', grammar]]), next: false };
}

/** Names that end where the first characters of the arguments follow: the grammar begins behind the name. */
function openNames(
  before: string,
  first: string,
  tools: readonly AnswerTool[],
  behind: (tool: AnswerTool) => Structure,
): StrictCall {
  const longestFirst = tools.map(({ name }) => bytesOf(name)).sort((a, b) => b.length - a.length);
  const goesOn = thenAny({ regex: `[^${first}]` });
  const structure = (tool: AnswerTool) => ({ oneOf: [literal(''), thenAny(behind(tool)), goesOn] });
  return {
    pattern: new RegExp(`${before}(${longestFirst.map(escapeRegExp).join('|')})`, 'g'),
    behind: new Map(tools.map((tool) => [bytesOf(tool.name), structure(tool)])),
    next: false,
  };
}

/** An object with a name and arguments, perhaps with other members. `end` stands behind it. */
function objects(before: string, key: string, tools: readonly AnswerTool[], end = ''): StrictCall {
  const head = [before, '\\{', `(?:${member}`, ',', '){0,3}"name"', ':', '"'].join(spaces);
  const spell = (name: string) => JSON.stringify(name).slice(1, -1);
  return closedNames(head, inQuotes, tools, spell, (tool) =>
    sequence({ regex: `${space},${space}"${key}"${space}:${space}` }, argumentsOf(tool), {
      regex: `(?:${space},${space}${id})?${space}\\}${end}`,
    }),
  );
}

function mistralCalls(tools: readonly AnswerTool[]): readonly StrictCall[] {
  const named = tools.filter(({ name }) => /^[^\s[\]{]+$/.test(name));
  const header = { regex: ' ?(?:\\[CALL_ID\\][^\\[\\]]{1,64})?(?:\\[ARGS\\])? ?' };
  return [
    objects(`\\[TOOL_CALLS\\]${spaces}\\[?`, 'arguments', tools),
    { ...objects(`\\}${spaces},`, 'arguments', tools), next: true },
    ...(named.length === 0
      ? []
      : [
          openNames(`\\[TOOL_CALLS\\]${spaces}`, '\\s\\[{', named, (tool) =>
            sequence(header, argumentsOf(tool)),
          ),
        ]),
  ];
}

/** Llama's second way; never taken for a tool that only JSON can write. */
function dottedCall(tool: AnswerTool): Structure {
  try {
    return sequence(literal('.call'), pythonArguments(tool));
  } catch {
    return { oneOf: [] };
  }
}

const FORMS: Readonly<Record<CallFormat, (tools: readonly AnswerTool[]) => readonly StrictCall[]>> = {
  hermes: (tools) => [objects('<tool_call>', 'arguments', tools, `${space}</tool_call>`)],
  'qwen3-coder': (tools) => [closedNames('<function=', inBrackets, tools, (name) => name, coderParameters)],
  'llama3-json': (tools) => [
    objects('', 'parameters', tools),
    openNames(`<\\|python_tag\\|>${spaces}`, '.', tools, dottedCall),
  ],
  pythonic: (tools) => [openNames(`[\\[,]${spaces}`, '(', tools, pythonArguments)],
  mistral: mistralCalls,
  'mistral-args': mistralCalls,
};

/**
 * The places of an answer behind which the calls of strict tools are enforced, whether or not it must call. Calls that
 * name their tool behind the arguments are not among them.
 * @param tools the strict ones, at least one
 * @throws RuntimeError BAD_GRAMMAR for schemas and names that the family cannot write
 */
export const strictCalls = (format: CallFormat, tools: readonly AnswerTool[]): readonly StrictCall[] =>
  FORMS[format](tools);

/** The most bytes of a text that decide whether a call of these tools begins. */
export const longestHead = (tools: readonly AnswerTool[]): number =>
  256 + Math.max(0, ...tools.map(({ name }) => bytesOf(name).length));
