// Jinja as transformers runs it: jinja2's sandbox with trim_blocks, lstrip_blocks and loop controls.
export { Budget, type Limits, limitsFor } from './budget.js';
export { Converter } from './convert.js';
export { LimitReached, TemplateFailure, TemplateRefusal, TemplateSyntaxError } from './error.js';
export { GLOBALS } from './globals.js';
export { Interpreter } from './interpreter.js';
export type { Block } from './nodes.js';
export { parseTemplate } from './parse-statement.js';
export { Scope } from './scope.js';
export { concat, Text } from './text.js';
export type { Dict, Value } from './value.js';
