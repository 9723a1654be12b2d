// Writes packages/core/src/generated/ops.ts: the interface `Ops`, its recording, and `fills`, from the files of packages/core/src/ops.
// The order is that of `coreOps` in ops/index.ts. Reads sources alone: no build is needed.
//
//   node tools/generate-ops.mjs            writes the file
//   node tools/generate-ops.mjs --check    fails if the file would change
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'packages/core/src');
const target = join(sources, 'generated/ops.ts');

function parse(file) {
  const text = readFileSync(file, 'utf8');
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

const isExported = (node) => node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

function fail(node, message) {
  const source = node.getSourceFile();
  const { line } = source.getLineAndCharacterOfPosition(node.getStart());
  throw new Error(`${relative(root, source.fileName)}:${line + 1}: ${message}`);
}

/** Names that a file imports or exports: [name, 'import statement for generated/ops.ts']. */
function typesIn(source) {
  const from = (path) => {
    const way = relative(dirname(target), path);
    return way.startsWith('.') ? way : `./${way}`;
  };
  const known = new Map();
  for (const node of source.statements) {
    if (ts.isImportDeclaration(node) && node.importClause?.namedBindings?.elements) {
      const path = join(dirname(source.fileName), node.moduleSpecifier.text);
      for (const { name } of node.importClause.namedBindings.elements) known.set(name.text, from(path));
    } else if (isExported(node) && (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)))
      known.set(node.name.text, from(source.fileName.replace(/\.ts$/, '.js')));
  }
  return known;
}

/** Adds the types named below a node to `imports`: path → names. */
function collectTypes(node, known, imports) {
  if (ts.isTypeReferenceNode(node)) {
    const name = node.typeName.getText();
    const path = known.get(name);
    if (!path) fail(node, `the type ${name} is neither imported nor exported here`);
    imports.set(path, (imports.get(path) ?? new Set()).add(name));
  }
  ts.forEachChild(node, (child) => collectTypes(child, known, imports));
}

function parameter(node) {
  if (!ts.isIdentifier(node.name) || !node.type)
    fail(node, 'a parameter of a call needs a plain name and a type');
  return `${node.name.text}${node.initializer || node.questionToken ? '?' : ''}: ${node.type.getText()}`;
}

/** An exported function as a method of an interface, with its comment. */
function method(name, node, imports) {
  const [comment] = ts.getJSDocCommentsAndTags(node);
  if (!comment) fail(node, 'a call needs a comment: it documents the method of Ops');
  if (!node.type) fail(node, 'a call needs the type of its result');
  const known = typesIn(node.getSourceFile());
  for (const part of [...node.parameters, node.type]) collectTypes(part, known, imports);
  return `${comment.getText()}\n${name}(${node.parameters.map(parameter).join(', ')}): ${node.type.getText()};`;
}

const functionsOf = (source) =>
  source.statements.filter((node) => ts.isFunctionDeclaration(node) && isExported(node));

const exportsFill = (source) =>
  source.statements.some(
    (node) =>
      ts.isVariableStatement(node) &&
      isExported(node) &&
      node.declarationList.declarations.some(({ name }) => name.getText() === 'fill'),
  );

/** The ops of ops/index.ts, in the order of `coreOps`: [{name, path, source}]. */
function listedOps() {
  const index = parse(join(sources, 'ops/index.ts'));
  const files = typesIn(index);
  let list;
  const find = (node) => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === 'coreOps') list = node.initializer;
    else ts.forEachChild(node, find);
  };
  find(index);
  while (!ts.isObjectLiteralExpression(list)) list = list.expression;
  return list.properties.map((property) => {
    const name = property.name.getText();
    const path = files.get(name);
    const source = parse(join(dirname(target), path).replace(/\.js$/, '.ts'));
    return { name, path, source };
  });
}

function generated() {
  const ops = listedOps().map((op) => ({
    ...op,
    call: functionsOf(op.source).find((node) => node.name.text === 'call'),
    fill: exportsFill(op.source),
  }));
  const views = functionsOf(parse(join(sources, 'op/views.ts')));
  const called = ops.filter(({ call }) => call);
  const filled = ops.filter(({ fill }) => fill);
  const types = new Map();
  const methods = [
    ...called.map(({ name, call }) => method(name, call, types)),
    ...views.map((view) => method(view.name.text, view, types)),
  ];
  const values = [
    ...ops.flatMap(({ name, path, call, fill }) => {
      const names = [call && `call as ${name}`, fill && `fill as ${name}Fill`].filter(Boolean);
      const also = [...(types.get(path) ?? [])].map((type) => `type ${type}`);
      types.delete(path);
      return names.length || also.length
        ? [`import { ${[...names, ...also].join(', ')} } from '${path}';`]
        : [];
    }),
    `import { ${views.map((view) => view.name.text).join(', ')} } from '../op/views.js';`,
    `import type { CoreOpName } from '../ops/index.js';`,
  ];
  const typeImports = [...types].map(
    ([path, names]) => `import type { ${[...names].join(', ')} } from '${path}';`,
  );
  return `// Generated by tools/generate-ops.mjs from the files of ops/. Do not edit.
${[...values, ...typeImports].join('\n')}

/**
 * The ops of models. A call checks its arguments, infers the output shape and records the op. Nothing is computed until
 * the step runs. All ops throw BackendError: BAD_SHAPE, BAD_DTYPE, BAD_ARGUMENT, WRONG_STEP, STEP_FINISHED, DISPOSED.
 * Definitions, tolerances and sources are in the op table (\`coreOps\`).
 */
export interface Ops {
${methods.join('\n')}
}

/** Each op call as one record in the step of its first operand. */
export const recordOps: Ops = { ${[...called, ...views.map((view) => ({ name: view.name.text }))].map(({ name }) => name).join(', ')} };

/** Optional ops of a driver, and how core fills each. */
export const fills = { ${filled.map(({ name }) => `${name}: ${name}Fill`).join(', ')} } as const;

export type OptionalOpName = keyof typeof fills;
export type RequiredOpName = Exclude<CoreOpName, OptionalOpName>;
`;
}

/** As `biome check --write` leaves it. */
const formatted = (text) =>
  execFileSync(
    process.execPath,
    [
      join(root, 'node_modules/@biomejs/biome/bin/biome'),
      ...['check', '--write', `--stdin-file-path=${relative(root, target)}`],
    ],
    { cwd: root, input: text, encoding: 'utf8' },
  );

const text = formatted(generated());
if (!process.argv.includes('--check')) writeFileSync(target, text);
else if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
  console.error(`${relative(root, target)} is out of date: run node tools/generate-ops.mjs`);
  process.exitCode = 1;
}
