import { tokenize } from './lexer.js';
import { looksUp } from './looks-up.js';
import type { Block, Expression, MacroBody, Parameter, Statement, Target } from './nodes.js';
import { parseBlockFilters, parseExpression, parseTuple } from './parse-expression.js';
import { TokenReader } from './token-reader.js';

/** A parsed template. @throws TemplateSyntaxError */
export function parseTemplate(source: string): Block {
  const reader = new TokenReader(tokenize(source));
  const body = parseBody(reader);
  return reader.ended ? body : reader.fail(`unexpected ${reader.next.text}`);
}

/** Statements up to a block that starts with one of `ends`; that block is not consumed. */
function parseBody(reader: TokenReader, ...ends: readonly string[]): Block {
  const body: Statement[] = [];
  while (!reader.ended) {
    if (reader.is('text')) body.push({ kind: 'text', text: reader.advance().text });
    else if (reader.skip('open')) body.push(parsePrint(reader));
    else if (reader.next.kind === 'name' && ends.includes(reader.next.text)) return body;
    else body.push(reader.nested(() => parseStatement(reader)));
  }
  if (ends.length > 0) reader.fail(`{% ${ends.at(-1)} %} is missing`);
  return body;
}

/** Statements up to and including `{% end %}`. */
function parseUntil(reader: TokenReader, end: string): Block {
  const body = parseBody(reader, end);
  parseEnd(reader, end);
  return body;
}

function parseEnd(reader: TokenReader, name: string): void {
  reader.expect('begin');
  reader.expect('name', name);
  reader.expect('end');
}

function parsePrint(reader: TokenReader): Statement {
  const value = parseTuple(reader);
  reader.expect('close');
  return { kind: 'print', value };
}

const STATEMENTS: Readonly<Record<string, (reader: TokenReader) => Statement>> = {
  if: parseIf,
  for: parseFor,
  set: parseSet,
  macro: parseMacro,
  call: parseCall,
  filter: parseFilterBlock,
  with: parseWith,
  block: parseNamedBlock,
  autoescape: parseAutoescape,
  generation: (reader) => parseScope(reader, 'endgeneration'),
  break: (reader) => parseJump(reader, 'break'),
  continue: (reader) => parseJump(reader, 'continue'),
};

function parseStatement(reader: TokenReader): Statement {
  reader.expect('begin');
  const name = reader.is('name') ? reader.current.text : '';
  if (!Object.hasOwn(STATEMENTS, name))
    reader.fail(`there is no statement ${name === '' ? reader.found() : `"${name}"`} here`);
  reader.advance();
  return STATEMENTS[name]!(reader);
}

function parseIf(reader: TokenReader): Statement {
  const branches: { readonly test: Expression; readonly body: Block }[] = [];
  for (;;) {
    const test = parseTuple(reader, false);
    reader.expect('end');
    branches.push({ test, body: parseBody(reader, 'elif', 'else', 'endif') });
    reader.expect('begin');
    if (!reader.skip('name', 'elif')) break;
  }
  return { kind: 'if', branches, otherwise: parseOtherwise(reader, 'endif') };
}

/** `else %} … {% end %}`, or only `end %}`; the `{%` has been consumed. */
function parseOtherwise(reader: TokenReader, end: string): Block {
  if (reader.skip('name', 'else')) {
    reader.expect('end');
    return parseUntil(reader, end);
  }
  reader.expect('name', end);
  reader.expect('end');
  return [];
}

function parseFor(reader: TokenReader): Statement {
  const target = parseTarget(reader, 'in');
  reader.expect('name', 'in');
  const iterable = parseTuple(reader, false, 'recursive');
  const filter = reader.skip('name', 'if') ? parseExpression(reader) : undefined;
  const recursive = reader.skip('name', 'recursive');
  reader.expect('end');
  const body = parseBody(reader, 'else', 'endfor');
  reader.expect('begin');
  const otherwise = parseOtherwise(reader, 'endfor');
  return { kind: 'for', target, iterable, filter, recursive, body, otherwise };
}

/** A name, `namespace.field`, or several with commas, with or without parentheses. */
function parseTarget(reader: TokenReader, endName?: string): Target {
  const items: Target[] = [];
  let several = false;
  for (;;) {
    if (reader.is('end') || reader.isOperator('=', ')') || (endName && reader.isName(endName))) break;
    items.push(parseOneTarget(reader));
    if (!reader.skip('operator', ',')) break;
    several = true;
  }
  if (items.length === 0) reader.fail(`expected a name, found ${reader.found()}`);
  return several ? { kind: 'targets', items } : items[0]!;
}

function parseOneTarget(reader: TokenReader): Target {
  if (reader.skip('operator', '(')) {
    const target = reader.nested(() => parseTarget(reader));
    reader.expect('operator', ')');
    return target;
  }
  const name = reader.expect('name').text;
  if (!reader.skip('operator', '.')) return { kind: 'name', name };
  return { kind: 'field', object: name, name: reader.expect('name').text };
}

function parseSet(reader: TokenReader): Statement {
  const target = parseTarget(reader);
  if (reader.skip('operator', '=')) {
    const value = parseTuple(reader);
    reader.expect('end');
    return { kind: 'set', target, value };
  }
  const filter = reader.isOperator('|') ? parseBlockFilters(reader, false) : undefined;
  reader.expect('end');
  return { kind: 'capture', target, filter, body: parseUntil(reader, 'endset') };
}

function parseParameters(reader: TokenReader): Parameter[] {
  const parameters: Parameter[] = [];
  reader.expect('operator', '(');
  while (!reader.skip('operator', ')')) {
    if (parameters.length > 0) reader.expect('operator', ',');
    if (reader.skip('operator', ')')) break;
    const name = reader.expect('name').text;
    const value = reader.skip('operator', '=') ? parseExpression(reader) : undefined;
    if (!value && parameters.at(-1)?.default)
      reader.fail(`parameter ${name} needs a default, as the one before`);
    parameters.push({ name, default: value });
  }
  return parameters;
}

function macroBody(name: string, parameters: readonly Parameter[], body: Block): MacroBody {
  const takes = {
    varargs: looksUp(body, 'varargs'),
    kwargs: looksUp(body, 'kwargs'),
    caller: looksUp(body, 'caller'),
  };
  return { name, parameters, body, takes };
}

function parseMacro(reader: TokenReader): Statement {
  const name = reader.expect('name').text;
  const parameters = parseParameters(reader);
  reader.expect('end');
  return { kind: 'macro', macro: macroBody(name, parameters, parseUntil(reader, 'endmacro')) };
}

function parseCall(reader: TokenReader): Statement {
  const parameters = reader.isOperator('(') ? parseParameters(reader) : [];
  const call = parseExpression(reader);
  if (call.kind !== 'call') reader.fail('{% call %} needs a call, such as name()');
  reader.expect('end');
  const body = parseUntil(reader, 'endcall');
  return {
    kind: 'call',
    callee: call.callee,
    args: call.args,
    caller: macroBody('caller', parameters, body),
  };
}

function parseFilterBlock(reader: TokenReader): Statement {
  const filter = parseBlockFilters(reader, true);
  reader.expect('end');
  return { kind: 'filter block', filter, body: parseUntil(reader, 'endfilter') };
}

function parseWith(reader: TokenReader): Statement {
  const values: [Target, Expression][] = [];
  while (!reader.is('end')) {
    if (values.length > 0) reader.expect('operator', ',');
    const target = parseOneTarget(reader);
    reader.expect('operator', '=');
    values.push([target, parseExpression(reader)]);
  }
  reader.expect('end');
  return { kind: 'scope', values, body: parseUntil(reader, 'endwith') };
}

function parseScope(reader: TokenReader, end: string): Statement {
  reader.expect('end');
  return { kind: 'scope', values: [], body: parseUntil(reader, end) };
}

/** A named block: without template inheritance it is equal to its body. */
function parseNamedBlock(reader: TokenReader): Statement {
  const { text: name } = reader.expect('name');
  reader.expect('end');
  const body = parseBody(reader, 'endblock');
  reader.expect('begin');
  reader.expect('name', 'endblock');
  reader.skip('name', name);
  reader.expect('end');
  return { kind: 'scope', values: [], body };
}

/** Chat templates are not HTML: only `false` is supported. */
function parseAutoescape(reader: TokenReader): Statement {
  const value = parseExpression(reader);
  if (value.kind !== 'constant' || value.value !== false) reader.fail('{% autoescape %} knows only false');
  return parseScope(reader, 'endautoescape');
}

function parseJump(reader: TokenReader, kind: 'break' | 'continue'): Statement {
  reader.expect('end');
  return { kind };
}
