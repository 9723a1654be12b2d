// npm runs this in a package's folder before and after packing (`prepack`, `postpack --restore`). Pages linked by the
// README are copied to docs/; links to other files become text.
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const docs = join(root, 'docs');
const folder = process.cwd();
const readme = join(folder, 'README.md');
const original = join(folder, 'original-readme.md');

const link = /\[((?:[^[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)/g;

/** Every page, file and folder of docs/ reachable by links from a file. */
function reachablePages(from, found = new Set()) {
  for (const [, , target] of readFileSync(from, 'utf8').matchAll(link)) {
    const page = resolve(dirname(from), target);
    if (!page.startsWith(`${docs}/`) || !existsSync(page) || found.has(page)) continue;
    found.add(page);
    if (page.endsWith('.md')) reachablePages(page, found);
  }
  return found;
}

const within = (path, parts) => parts.some((part) => path === part || path.startsWith(`${part}/`));

/** The files of the package by its list: paths, and those left out. */
function shippedFiles() {
  const { files } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const isLeftOut = (name) => name.startsWith('!');
  return {
    paths: files.filter((name) => !isLeftOut(name)).map((name) => join(folder, name)),
    leftOut: files.filter(isLeftOut).map((name) => join(folder, name.slice(1))),
  };
}

/** The place of a repository file in the package; undefined: not included. */
function placeOf(path, pages, { paths, leftOut }) {
  if (pages.has(path)) return join(folder, 'docs', relative(docs, path));
  return within(path, paths) && !within(path, leftOut) ? path : undefined;
}

/** A page's text with links rewritten from the place `from` in the repository to the place `to` in the package. */
function rewritten(from, to, pages, shipped) {
  return readFileSync(from, 'utf8').replace(link, (_, label, target, anchor = '') => {
    const path = resolve(dirname(from), target);
    const place = placeOf(path, pages, shipped);
    if (!place) return `${label} (${relative(root, path)} in the repository)`;
    return `[${label}](${relative(dirname(to), place)}${anchor})`;
  });
}

function pack() {
  const shipped = shippedFiles();
  const pages = reachablePages(readme);
  const text = rewritten(readme, readme, pages, shipped);
  renameSync(readme, original);
  writeFileSync(readme, text);
  for (const page of pages) {
    const to = placeOf(page, pages, shipped);
    mkdirSync(dirname(to), { recursive: true });
    if (page.endsWith('.md')) writeFileSync(to, rewritten(page, to, pages, shipped));
    else cpSync(page, to, { recursive: true });
  }
}

function restore() {
  if (existsSync(original)) renameSync(original, readme);
  rmSync(join(folder, 'docs'), { recursive: true, force: true });
}

restore(); // cleans up after an interrupted run
if (!process.argv.includes('--restore')) pack();
