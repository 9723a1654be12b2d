// Compares declarations with the run-time exports, and compiles declarations like applications do.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import ts from 'typescript';
import { root } from '../setup.mjs';

const options = {
  strict: true,
  noEmit: true,
  exactOptionalPropertyTypes: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
};
const ways = {
  'Node, ESM and CommonJS': {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
  },
  'a bundler': { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
};

/** An application that imports every package, in both module systems. */
function writeConsumers(folder, names) {
  const text = names
    .map((name, i) => `import * as p${i} from '${name}';\nexport const v${i} = p${i};`)
    .join('\n');
  const files = ['consumer.mts', 'consumer.cts'].map((file) => join(folder, file));
  for (const file of files) writeFileSync(file, text);
  return files;
}

/** Compiles the packages' declarations, checking them too, in the given way. Returns the messages. */
export function compileFaults(folder, names, way) {
  const program = ts.createProgram(writeConsumers(folder, names), { ...options, ...ways[way] });
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    );
}
export const compileWays = Object.keys(ways);

/** Names of the values that a declaration file exports. */
function declaredValues(program, file) {
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  const isValue = (symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const typeOnly = symbol.declarations?.some((each) => ts.isTypeOnlyImportOrExportDeclaration(each));
    return !typeOnly && (target.flags & ts.SymbolFlags.Value) !== 0;
  };
  return checker
    .getExportsOfModule(module)
    .filter(isValue)
    .map(({ name }) => name);
}

/** How to list the run-time exports, for the declarations of each build. */
const loaders = {
  'index.d.ts': (name) => `await import('${name}')`,
  'index.d.cts': (name) => `require('${name}')`,
};

/** The run-time exports of each package. */
function presentValues(folder, names, load) {
  const entries = names.map((name) => `[${JSON.stringify(name)}, Object.keys(${load(name)})]`);
  const path = join(folder, 'present.mjs');
  writeFileSync(
    path,
    `import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);\nconsole.log(JSON.stringify([${entries.join(',')}]));`,
  );
  return new Map(JSON.parse(execFileSync(process.execPath, [path]).toString()));
}

/** Per package: declared but missing values, and undeclared values, in the ESM and the CommonJS build. */
export function exportFaults(folder, names) {
  const pathOf = (name, file) => join(folder, 'node_modules', name, 'dist', file);
  const paths = names.flatMap((name) => Object.keys(loaders).map((file) => pathOf(name, file)));
  const program = ts.createProgram(paths, {
    ...options,
    ...ways['Node, ESM and CommonJS'],
    skipLibCheck: true,
  });
  const faults = new Map(names.map((name) => [name, []]));
  for (const [file, load] of Object.entries(loaders))
    for (const [name, there] of presentValues(folder, names, load)) {
      const declared = declaredValues(program, pathOf(name, file));
      const missing = declared.filter((value) => !there.includes(value));
      const hidden = there.filter((value) => !declared.includes(value));
      faults.get(name).push(...missing.map((value) => `${file}: ${value} is declared, but not there`));
      faults.get(name).push(...hidden.map((value) => `${file}: ${value} is there, but not declared`));
    }
  return faults;
}

/** publint's faults of an installed package: entry points, module formats, conditions, files. */
export async function publintFaults(folder, name) {
  const { messages, pkg } = await publint({
    pkgDir: join(folder, 'node_modules', name),
    pack: false,
    strict: true,
  });
  const isOfDocs = (text) => text.includes('./docs/'); // an example's package.json, for reading only
  return messages
    .filter(({ type }) => type !== 'suggestion')
    .map((message) => formatMessage(message, pkg))
    .filter((text) => !isOfDocs(text));
}
