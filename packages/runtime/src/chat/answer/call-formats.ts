import type { CallReader, CallSink } from './call-output.js';
import { bareCalls, PythonTagCalls } from './llama-calls.js';
import { MistralCalls } from './mistral-calls.js';
import { ObjectCalls } from './object-calls.js';
import { PythonCalls } from './python-calls.js';
import { QwenCoderCalls } from './qwen-coder-calls.js';

/** How a family of models writes calls of tools. */
export interface CallForm {
  /** Strings of a chat template that announce this family: all of one list. */
  readonly announcedBy: readonly (readonly string[])[];
  /** Where a call may begin. */
  readonly marks: readonly string[];
  /** Marks that are part of the call itself; one character each. */
  readonly readAgain: readonly string[];
  /** Further marks that may be tokens of their own. */
  readonly inner: readonly string[];
  /** Templates of this family refuse messages with several calls. */
  readonly oneCallPerMessage?: true;
  open(sink: CallSink, mark: string): CallReader;
}

const hermes = { close: '</tool_call>', resumes: true, separator: '', lead: '', bare: false } as const;
const PYTHON_TAG = '<|python_tag|>';

/** The first family that a template announces is its own: the order counts. */
export const CALL_FORMS = {
  /** `[TOOL_CALLS]name[ARGS]{…}` */
  'mistral-args': {
    announcedBy: [['[TOOL_CALLS]', '[ARGS]']],
    marks: ['[TOOL_CALLS]'],
    readAgain: [],
    inner: ['[ARGS]', '[CALL_ID]'],
    open: (sink, mark) => new MistralCalls(sink, mark),
  },
  /** `[TOOL_CALLS][{"name": …, "arguments": {…}}, …]` */
  mistral: {
    announcedBy: [['[TOOL_CALLS]']],
    marks: ['[TOOL_CALLS]'],
    readAgain: [],
    inner: ['[ARGS]', '[CALL_ID]'],
    open: (sink, mark) => new MistralCalls(sink, mark),
  },
  /** `<tool_call><function=name><parameter=key>…` */
  'qwen3-coder': {
    announcedBy: [['<function=', '<parameter=']],
    marks: QwenCoderCalls.marks,
    readAgain: [],
    inner: ['</tool_call>'],
    open: (sink, mark) => new QwenCoderCalls(sink, mark),
  },
  /** `<tool_call>{"name": …, "arguments": {…}}</tool_call>`: Hermes, Qwen 2.5 and 3, and many others */
  hermes: {
    announcedBy: [['<tool_call>']],
    marks: ['<tool_call>'],
    readAgain: [],
    inner: ['</tool_call>'],
    open: (sink, mark) => new ObjectCalls(sink, hermes, mark),
  },
  /** `[name(key=value, …), …]`: Llama 3.2 and 4 */
  pythonic: {
    announcedBy: [['[func_name1(']],
    marks: ['['],
    readAgain: [],
    inner: [],
    open: (sink, mark) => new PythonCalls(sink, mark),
  },
  /** `{"name": …, "parameters": {…}}`, also in a list and behind `<|python_tag|>`: Llama 3.1 to 3.3 */
  'llama3-json': {
    announcedBy: [
      ['<|start_header_id|>', '"parameters"'],
      ['<|start_header_id|>', PYTHON_TAG],
    ],
    marks: ['{', '[', PYTHON_TAG],
    readAgain: ['{', '['],
    inner: [],
    oneCallPerMessage: true,
    open: (sink, mark) => (mark === PYTHON_TAG ? new PythonTagCalls(sink, mark) : bareCalls(sink, mark)),
  },
} as const satisfies Readonly<Record<string, CallForm>>;

/** The name of a family, for `ChatOptions.callFormat`. */
export type CallFormat = keyof typeof CALL_FORMS;

export const callFormats = Object.keys(CALL_FORMS) as readonly CallFormat[];

/** The family that a template's source announces; undefined for none. */
export function callFormatOf(source: string): CallFormat | undefined {
  const announces = (format: CallFormat) =>
    CALL_FORMS[format].announcedBy.some((strings) => strings.every((string) => source.includes(string)));
  return callFormats.find(announces);
}

/** Whether a template's source knows thoughts between `<think>` and `</think>`. */
export const knowsThinking = (source: string): boolean =>
  source.includes('<think>') || source.includes('</think>');

/** The variable that switches thinking on and off; undefined where the template has none. */
export function thinkingVariable(source: string): string | undefined {
  if (/\benable_thinking\b/.test(source)) return 'enable_thinking';
  return /\b(if|not) thinking\b|\bthinking is defined\b/.test(source) ? 'thinking' : undefined;
}

/** Whether a prompt ends inside of thoughts: the template has opened them. */
export const opensThinking = (prompt: string): boolean => prompt.trimEnd().endsWith('<think>');

/** Strings that the parser of a family must see, also where they are control tokens. */
export const marksOf = (format: CallFormat): readonly string[] => [
  ...CALL_FORMS[format].marks,
  ...CALL_FORMS[format].inner,
];

export const thinkingMarks: readonly string[] = ['<think>', '</think>'];

/** Whether templates of a family refuse messages with several calls. */
export const takesOneCall = (format: CallFormat): boolean =>
  (CALL_FORMS[format] as CallForm).oneCallPerMessage === true;
