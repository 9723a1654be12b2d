// npm runs this in a package's folder before and after packing (`prepack`, `postpack --restore`). docs/ travels once, in @quern/core:
// READMEs of packages that depend on core link to it there. Links to other files become text.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const docs = join(root, 'docs');
const folder = process.cwd();
const readme = join(folder, 'README.md');
const original = join(folder, 'original-readme.md');

const manifestOf = (path) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
const manifest = manifestOf(folder);
const carries = manifest.name === '@quern/core';

/** The folder of the pages as installed: in this package, or in core beside it; undefined: core need not be there. */
function installedDocs() {
  if (carries) return join(folder, 'docs');
  const { dependencies, peerDependencies } = manifest;
  if (!('@quern/core' in { ...dependencies, ...peerDependencies })) return undefined;
  return resolve(folder, manifest.name.startsWith('@quern/') ? '../core/docs' : '../@quern/core/docs');
}
const placeOfDocs = installedDocs();

const link = /\[((?:[^[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)/g;

/** Measurements and the insides of the repository: they stay there. */
const notPacked = [
  'performance.md',
  'performance.svg',
  'performance-amx.svg',
  'cuda-figures.md',
  'architecture.md',
].map((name) => join(docs, name));

const within = (path, parts) => parts.some((part) => path === part || path.startsWith(`${part}/`));

const made = /\/(node_modules|build|dist)(\/|$)/; // by whoever tried an example
const travels = (path) =>
  within(path, [docs]) && existsSync(path) && !notPacked.includes(path) && !made.test(relative(root, path));

/** The files of docs/ that travel. */
const pages = () =>
  readdirSync(docs, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath, path = parentPath }) => join(path, name))
    .filter(travels);

/** The files of the package by its list: paths, and those left out. */
function shippedFiles() {
  const { files } = manifest;
  const isLeftOut = (name) => name.startsWith('!');
  return {
    paths: files.filter((name) => !isLeftOut(name)).map((name) => join(folder, name)),
    leftOut: files.filter(isLeftOut).map((name) => join(folder, name.slice(1))),
  };
}

/** The place of a repository file beside the installed package; undefined: not there. */
function placeOf(path, { paths, leftOut }) {
  if (travels(path)) return placeOfDocs && join(placeOfDocs, relative(docs, path));
  return within(path, paths) && !within(path, leftOut) ? path : undefined;
}

/** A page's text with links rewritten from the place `from` in the repository to the place `to` in the package. */
function rewritten(from, to, shipped) {
  return readFileSync(from, 'utf8').replace(link, (_, label, target, anchor = '') => {
    const path = resolve(dirname(from), target);
    const place = placeOf(path, shipped);
    if (!place) return `${label} (${relative(root, path)} in the repository)`;
    return `[${label}](${relative(dirname(to), place)}${anchor})`;
  });
}

function pack() {
  const shipped = shippedFiles();
  const text = rewritten(readme, readme, shipped);
  renameSync(readme, original);
  writeFileSync(readme, text);
  for (const page of carries ? pages() : []) {
    const to = placeOf(page, shipped);
    mkdirSync(dirname(to), { recursive: true });
    if (page.endsWith('.md')) writeFileSync(to, rewritten(page, to, shipped));
    else cpSync(page, to, { recursive: true });
  }
}

function restore() {
  if (existsSync(original)) renameSync(original, readme);
  rmSync(join(folder, 'docs'), { recursive: true, force: true });
}

restore(); // cleans up after an interrupted run
if (!process.argv.includes('--restore')) pack();
