// The declarations of an API report, and how two reports of one entry point differ.
import ts from 'typescript';

const printer = ts.createPrinter({ removeComments: true });

/** Parameters without their names, which no caller writes. */
const withoutNames = (context) => {
  const visit = (node) => {
    const visited = ts.visitEachChild(node, visit, context);
    if (!ts.isParameter(visited) || !ts.isIdentifier(visited.name)) return visited;
    const { modifiers, dotDotDotToken, questionToken, type, initializer } = visited;
    const rest = [questionToken, type, initializer];
    return context.factory.updateParameterDeclaration(visited, modifiers, dotDotDotToken, '_', ...rest);
  };
  return (node) => ts.visitNode(node, visit);
};

/** The text of a declaration, without comments and names of parameters. */
function textOf(node) {
  const [transformed] = ts.transform(node, [withoutNames]).transformed;
  return printer.printNode(ts.EmitHint.Unspecified, transformed, node.getSourceFile());
}

const hasModifier = (node, kind) => node.modifiers?.some((modifier) => modifier.kind === kind) ?? false;

const namesOf = (node) =>
  ts.isVariableStatement(node)
    ? node.declarationList.declarations.map(({ name }) => name.text)
    : [node.name?.text].filter((name) => name !== undefined);

/** The module of each imported name. */
function importsOf(source) {
  const bindings = (node) => node.importClause?.namedBindings?.elements ?? [];
  return new Map(
    source.statements
      .filter(ts.isImportDeclaration)
      .flatMap((node) => bindings(node).map(({ name }) => [name.text, node.moduleSpecifier.text])),
  );
}

/** `export { a }` of an imported name. */
const reexports = (node, imports) =>
  (node.exportClause?.elements ?? []).map(({ name, propertyName }) => {
    const from = imports.get((propertyName ?? name).text);
    return [name.text, { exported: true, text: `from ${from}`, nodes: [] }];
  });

/** Overloads have one name: their texts are joined. */
function addDeclaration(found, name, node) {
  const before = found.get(name) ?? { text: '', nodes: [] };
  found.set(name, {
    exported: hasModifier(node, ts.SyntaxKind.ExportKeyword),
    text: `${before.text}${textOf(node)}\n`,
    nodes: [...before.nodes, node],
  });
}

/** Declarations by name: `{ exported, text, nodes }`; `text` has neither comments nor names of parameters. */
export function surfaceOf(report) {
  const [, code = ''] = /```ts\n(.*)```/s.exec(report) ?? [];
  const source = ts.createSourceFile('report.ts', code, ts.ScriptTarget.ES2022, true);
  const [found, imports] = [new Map(), importsOf(source)];
  for (const node of source.statements) {
    if (ts.isExportDeclaration(node))
      for (const [name, declaration] of reexports(node, imports)) found.set(name, declaration);
    else if (!ts.isImportDeclaration(node))
      for (const name of namesOf(node)) addDeclaration(found, name, node);
  }
  return found;
}

const anyMember = () => true;
const optionalMember = (node) => node.questionToken !== undefined;
const optionalParameter = (node) =>
  node.questionToken !== undefined || node.initializer !== undefined || node.dotDotDotToken !== undefined;
const concreteMember = (node) => !hasModifier(node, ts.SyntaxKind.AbstractKeyword);

/**
 * The part of a declaration that may grow: members or parameters, and which new ones break nobody. Others implement our interfaces
 * (drivers, backends): a new member that is required breaks them.
 */
function growingPart(node) {
  if (ts.isInterfaceDeclaration(node)) return { list: node.members, mayAdd: optionalMember };
  if (ts.isClassDeclaration(node)) return { list: node.members, mayAdd: concreteMember };
  if (ts.isEnumDeclaration(node)) return { list: node.members, mayAdd: anyMember };
  if (ts.isTypeAliasDeclaration(node) && ts.isTypeLiteralNode(node.type))
    return { list: node.type.members, mayAdd: optionalMember };
  if (ts.isVariableStatement(node)) {
    const { type } = node.declarationList.declarations[0];
    return type && ts.isTypeLiteralNode(type) ? { list: type.members, mayAdd: anyMember } : undefined;
  }
  return node.parameters && { list: node.parameters, mayAdd: optionalParameter };
}

/** The text of a declaration without its growing part. */
function frameOf(node, list) {
  const { text } = node.getSourceFile();
  return `${text.slice(node.getStart(), list.pos)}…${text.slice(list.end, node.end)}`.replace(/\s+/g, ' ');
}

/** Parameters keep their places; members may change theirs. */
const counterpart = (old, i, list) =>
  ts.isParameter(old)
    ? list[i]
    : (list.find((node) => textOf(node) === textOf(old)) ??
      list.find((node) => node.kind === old.kind && node.name?.getText() === old.name?.getText()));

/** Whether all uses of the old declaration also suit the new one. */
export function isExtension(old, now) {
  if (textOf(old) === textOf(now)) return true;
  const [before, after] = [growingPart(old), growingPart(now)];
  if (old.kind !== now.kind || !before || !after) return false;
  if (frameOf(old, before.list) !== frameOf(now, after.list)) return false;
  const kept = before.list.map((node, i) => [node, counterpart(node, i, after.list)]);
  const added = after.list.filter((node) => !kept.some(([, each]) => each === node));
  return kept.every(([node, each]) => each && isExtension(node, each)) && added.every(after.mayAdd);
}

/** Every old declaration of the name has a new one that suits its uses. */
const isCompatible = (old, now) =>
  old.nodes.length > 0 && old.nodes.every((node) => now.nodes.some((each) => isExtension(node, each)));

function difference(name, old, now) {
  const [was, is] = [old?.exported ?? false, now?.exported ?? false];
  if (was && !is) return { name, what: 'removed', breaking: true };
  if (is && !was) return { name, what: 'added', breaking: false };
  if (!old || !now || old.text === now.text) return undefined;
  const breaking = !isCompatible(old, now);
  return { name, what: breaking ? 'changed' : 'extended', breaking, inner: !is };
}

/** `{ name, what, breaking, inner }` of each difference. `inner`: exports use the type, and none has its name. */
export function differences(oldReport, newReport) {
  const [old, now] = [surfaceOf(oldReport), surfaceOf(newReport)];
  const names = [...new Set([...old.keys(), ...now.keys()])].sort();
  return names
    .map((name) => difference(name, old.get(name), now.get(name)))
    .filter((each) => each !== undefined);
}
