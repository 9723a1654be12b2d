import {
  type Block,
  Budget,
  type Converter,
  GLOBALS,
  Interpreter,
  LimitReached,
  limitsFor,
  parseTemplate,
  Scope,
  TemplateFailure,
  TemplateRefusal,
  TemplateSyntaxError,
  type Text,
  type Value,
} from '../jinja/index.js';
import { ChatTemplateError } from './error.js';

/** A parsed template. */
export type Program = Block;

/** @throws ChatTemplateError BAD_TEMPLATE */
export function parse(source: string): Program {
  try {
    return parseTemplate(source);
  } catch (cause) {
    if (!(cause instanceof TemplateSyntaxError)) throw cause;
    throw new ChatTemplateError('BAD_TEMPLATE', `the chat template does not parse: ${cause.message}`, {
      cause,
    });
  }
}

/** Runs a template with its variables and a budget. @throws ChatTemplateError REFUSED, RENDER_FAILED or LIMIT */
export function run(
  program: Program,
  variables: (converter: Converter) => ReadonlyMap<string, Value>,
  converter: Converter,
  now: Date,
): Text {
  try {
    const scope = new Scope();
    for (const [name, value] of [...GLOBALS, ...variables(converter)]) scope.set(name, value);
    const budget = new Budget(limitsFor(converter.elements, converter.characters));
    return new Interpreter(budget, now).run(program, new Scope(scope));
  } catch (cause) {
    throw renderError(cause);
  }
}

function renderError(cause: unknown): unknown {
  if (cause instanceof TemplateRefusal)
    return new ChatTemplateError('REFUSED', `the chat template refuses these messages: ${cause.message}`, {
      cause,
    });
  if (cause instanceof TemplateFailure)
    return new ChatTemplateError('RENDER_FAILED', `the chat template failed: ${cause.message}`, { cause });
  const bound = cause instanceof LimitReached ? cause.message : stackOrLength(cause);
  if (bound === undefined) return cause;
  return new ChatTemplateError(
    'LIMIT',
    `the chat template was stopped: it needs more than ${bound}, far beyond what templates need for such messages`,
    { cause },
  );
}

/** The message for JavaScript's own limits: call stack, string length. */
const stackOrLength = (cause: unknown): string | undefined =>
  cause instanceof RangeError ? `JavaScript allows (${cause.message})` : undefined;
