// Counts the hand-written files of each core op: those that name it, outside tests, generated files and kernels.
//
//   node tools/count-op-files.mjs [op…]    after `nx build core`; with names: lists their files too
//
// Files that only use the op (other ops, fused ops, plans of the conformance kit) are counted apart. A plain op takes tensors alone; its
// files are those of "How to add an op" in CONTRIBUTING.md. Fails if a plain op has more than `most`, or has none of one place there.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const most = 6;
const root = fileURLToPath(new URL('..', import.meta.url));

/** Folders with the table of ops, and with what a backend does for one. */
const folders = [
  'core/src',
  'conformance/src',
  'native-runtime/src',
  'native-runtime/native/quern',
  'backend-reference/src',
  'backend-cpu/src',
  'backend-cpu/native',
  'gpu/native',
  'backend-cuda/src',
  'backend-cuda/native',
  'backend-metal/src',
  'backend-metal/native',
];
const excluded = /\/(kernels|generated|test|emulated|dialect)\//;

/** Files that use ops: a new op changes none of them, unless it is made to be fused. */
const uses = [
  /^packages\/core\/src\/(fusions\/|plan\/rewrites\.ts$)/,
  /^packages\/conformance\/src\/(plans|suites)\//,
  /^packages\/conformance\/src\/ops\/plain-forms\.ts$/,
];

/** Where every plain op has one file. */
const places = [
  /^packages\/core\/src\/ops\/(?!index)/,
  /^packages\/core\/src\/ops\/index\.ts$/,
  /^packages\/conformance\/src\/ops\/generate\.ts$/,
  /^packages\/native-runtime\/native\/quern\/plain\//,
  /^packages\/backend-cpu\/native\/ops\//,
  /^packages\/gpu\/native\/gpu\/ops\//,
];

/** Comments mention ops in passing. */
const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '');

function sources() {
  return folders.flatMap((folder) => {
    const path = join(root, 'packages', folder);
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|cc|h|inc)$/.test(entry.name))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .filter((file) => !excluded.test(file))
      .map((file) => ({
        file: relative(root, file),
        native: !file.endsWith('.ts'),
        text: withoutComments(readFileSync(file, 'utf8')),
      }));
  });
}

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const stem = (name) => snake(name).replaceAll('_', '-');

/** In C++: the struct of the operands, or the function of the op. */
const inNative = (name) =>
  new RegExp(
    `\\b${name[0].toUpperCase()}${name.slice(1)}Op\\b|\\b${snake(name)}\\(const (OpView|OpCall|Call)&`,
  );

/** In TypeScript: a string, or a property of the op table. */
const inTypeScript = (name) => new RegExp(`['"]${name}['"]|\\b(coreOps|recordOps|fills)\\.${name}\\b`);

/** In TypeScript: an entry of a table or an interface. Only in files with several ops: `sample,` may be a variable. */
const asEntry = (name) => new RegExp(`^\\s*${name}(:|,$|\\()`, 'm');
const manyEntries = 5;

const isList = ({ native, text }, names) =>
  !native && names.filter((name) => asEntry(name).test(text)).length >= manyEntries;

function isNamed(name, { native, text, list }) {
  if (native) return inNative(name).test(text);
  return inTypeScript(name).test(text) || (list && asEntry(name).test(text));
}

/** Other ops, and helpers of definitions. */
const isBeside = (name, { file, list }) =>
  /^packages\/core\/src\/ops\//.test(file) && !list && !file.endsWith(`/${stem(name)}.ts`);

const { coreOps } = await import(new URL('../packages/core/dist/index.js', import.meta.url).href);
const names = Object.keys(coreOps);
const all = sources().map((source) => ({ ...source, list: isList(source, names) }));
const asked = process.argv.slice(2);
const problems = [];

console.log(`${'op'.padEnd(18)} files  uses`);
for (const [name, { operands }] of Object.entries(coreOps)) {
  const [own, used] = [[], []];
  for (const source of all.filter((each) => isNamed(name, each)))
    (uses.some((use) => use.test(source.file)) || isBeside(name, source) ? used : own).push(source.file);
  const plain = Object.values(operands).every(({ kind }) => kind === 'tensor');
  console.log(
    `${name.padEnd(18)} ${String(own.length).padStart(5)} ${String(used.length).padStart(5)}  ${plain ? '' : 'weights or caches'}`.trimEnd(),
  );
  if (asked.includes(name)) for (const file of own) console.log(`    ${file}`);
  const missing = places.filter((place) => !own.some((file) => place.test(file)));
  if (missing.length > 0) problems.push(`${name}: no file matches ${missing.join(', ')}`);
  if (plain && own.length > most)
    problems.push(`${name}: ${own.length} files, more than ${most}: ${own.join(', ')}`);
}

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}
