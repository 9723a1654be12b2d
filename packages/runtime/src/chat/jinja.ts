import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { ChatTemplateError } from './error.js';
import { strftime } from './strftime.js';
import { rewriteStrips, STRIP_FUNCTIONS } from './strip.js';

// What we use of the library: its own declarations cannot be resolved by TypeScript's NodeNext rules and come out as any.
interface Scope {
  set(name: string, value: unknown): unknown;
}

/** A parsed template. */
export type Program = object;

/** Thrown by a template's own raise_exception. */
class Refusal extends Error {}

/** Parses with trim_blocks and lstrip_blocks, as transformers does. @throws ChatTemplateError BAD_TEMPLATE */
export function parseTemplate(source: string): Program {
  try {
    const program: Program = parse(tokenize(source, { trim_blocks: true, lstrip_blocks: true }));
    rewriteStrips(program);
    return program;
  } catch (cause) {
    throw new ChatTemplateError('BAD_TEMPLATE', `the chat template does not parse: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/** @throws ChatTemplateError REFUSED or RENDER_FAILED */
export function runTemplate(
  program: Program,
  variables: Readonly<Record<string, unknown>>,
  now: Date,
): string {
  try {
    const scope: Scope = new Environment();
    for (const [name, value] of Object.entries({ ...variables, ...globals(now) })) scope.set(name, value);
    return new Interpreter(scope).run(program).value;
  } catch (cause) {
    if (cause instanceof Refusal) {
      throw new ChatTemplateError('REFUSED', `the chat template refuses these messages: ${cause.message}`, {
        cause,
      });
    }
    throw new ChatTemplateError('RENDER_FAILED', `the chat template failed: ${messageOf(cause)}`, { cause });
  }
}

/** What transformers gives every template. */
const globals = (now: Date) => ({
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  range,
  raise_exception: (message: unknown) => {
    throw new Refusal(String(message));
  },
  strftime_now: (format: string) => strftime(now, format),
  ...STRIP_FUNCTIONS,
});

/** Python's range. */
function range(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new Error('range() with step 0 never ends');
  return Array.from({ length: Math.max(0, Math.ceil((stop - start) / step)) }, (_, i) => start + i * step);
}

const messageOf = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause));
