import type { Structure } from '@quern/grammar';
import { escapeRegExp } from '../../escape-regexp.js';
import type { CallFormat } from './call-formats.js';
import type { AnswerTool } from './call-output.js';
import { argumentsOf, coderParameters, literal, pythonArguments, sequence } from './call-structure.js';

/** A tool whose calls may be enforced. */
export interface StrictTool extends AnswerTool {
  /** Arguments fit the schema in every call that the model begins. */
  readonly strict: boolean;
}

/** Where a call in an answer is known, and what must follow. */
export interface StrictCall {
  /** Over UTF-8 bytes, one character each. Its one group is the tool: a key of `behind`. */
  readonly pattern: RegExp;
  /** What follows, by tool: the call, then anything. */
  readonly behind: ReadonlyMap<string, Structure>;
  /** Counts only behind another call. */
  readonly next: boolean;
}

/** How a family writes calls: the places behind a tool's name. */
interface Place {
  /** Pattern of the text before the name. */
  readonly before: string;
  /** The text behind the name that ends it; '' where only what follows tells that the name has ended. */
  readonly close: string;
  readonly isJson: boolean;
  readonly next?: true;
  readonly behind: (tool: StrictTool) => Structure;
}

const thenAny = (...parts: readonly Structure[]): Structure => sequence(...parts, { regex: '[\\s\\S]*' });
/** White space of JSON. */
const spaces = '[ \\t\\n\\r]*';
const space = '[ \\t\\n\\r]{0,2}';

/** JSON objects: other tools' arguments are any object, so that nothing in them is taken for a call. */
const parametersOf = (tool: StrictTool): Structure =>
  tool.strict ? argumentsOf(tool) : { schema: { type: 'object' } };

const object = (before: string, key: string, behind: Structure): Place => ({
  before: [before, '\\{', '(?:"type"', ':', '"function"', ',', ')?"name"', ':', '"'].join(spaces),
  close: '"',
  isJson: true,
  behind: (tool) =>
    thenAny({ regex: `${space},${space}"${key}"${space}:${space}` }, parametersOf(tool), behind),
});

const brace: Structure = { regex: `${space}\\}` };

/** The name has ended where `first` follows; it goes on otherwise. */
const ended = (first: string, structure: Structure): Structure => ({
  oneOf: [literal(''), thenAny(structure), thenAny({ regex: `[^${escapeRegExp(first)}]` })],
});

const mistralNamed: Place = {
  before: `\\[TOOL_CALLS\\]${spaces}`,
  close: '',
  isJson: false,
  behind: (tool) =>
    ended('[{', sequence({ regex: '(?:\\[CALL_ID\\][^\\[\\]]{1,64})?(?:\\[ARGS\\])?' }, argumentsOf(tool))),
};
const mistral: readonly Place[] = [
  object(`\\[TOOL_CALLS\\]${spaces}\\[?`, 'arguments', brace),
  { ...object(`\\}${spaces},`, 'arguments', brace), next: true },
  mistralNamed,
];

const PLACES: Readonly<Record<CallFormat, readonly Place[]>> = {
  hermes: [object('<tool_call>', 'arguments', { regex: `${space}\\}${space}</tool_call>` })],
  'qwen3-coder': [
    { before: '<function=', close: '>', isJson: false, behind: (tool) => thenAny(coderParameters(tool)) },
  ],
  'llama3-json': [object('', 'parameters', brace)],
  pythonic: [
    {
      before: `[\\[,]${spaces}`,
      close: '',
      isJson: false,
      behind: (tool) => ended('(', pythonArguments(tool)),
    },
  ],
  mistral,
  'mistral-args': mistral,
};

const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

function callAt(place: Place, tools: readonly StrictTool[]): StrictCall {
  const { before, close, isJson, next = false, behind } = place;
  const spelled = ({ name }: StrictTool) => bytesOf(isJson ? JSON.stringify(name).slice(1, -1) : name);
  const named = tools.filter(({ strict }) => strict || isJson);
  const names = named.map((tool) => escapeRegExp(spelled(tool))).sort((a, b) => b.length - a.length);
  return {
    pattern: new RegExp(`${before}(${names.join('|')})${close}`, 'g'),
    behind: new Map(named.map((tool) => [spelled(tool), behind(tool)])),
    next,
  };
}

/**
 * The places of an answer behind which the calls of strict tools are enforced, whether or not it must call. A call that
 * names its tool behind its arguments is not one of them.
 */
export const strictCalls = (format: CallFormat, tools: readonly StrictTool[]): readonly StrictCall[] =>
  PLACES[format].map((place) => callAt(place, tools));

/** The most bytes of a text that decide whether a call of these tools begins. */
export const longestHead = (tools: readonly StrictTool[]): number =>
  128 + Math.max(0, ...tools.map(({ name }) => bytesOf(JSON.stringify(name)).length));
