// npm runs this in a package's folder before and after packing (`prepack`, `postpack --restore`). docs/ travels once, in @quern/core.
// Links of READMEs and pages lead to where the packages are installed, side by side in node_modules. A package that need not be
// there is named beside the link. Links to files that no package has become text.
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

/** A published package: its folder, its name, and its files by the list of package.json: paths, and those left out. */
function published(path) {
  const { name, private: unpublished, files = [] } = manifestOf(path);
  const isLeftOut = (file) => file.startsWith('!');
  return {
    ...{ path, name, unpublished },
    paths: ['README.md', ...files.filter((file) => !isLeftOut(file))].map((file) => join(path, file)),
    leftOut: files.filter(isLeftOut).map((file) => join(path, file.slice(1))),
  };
}

const packages = readdirSync(join(root, 'packages'))
  .map((name) => published(join(root, 'packages', name)))
  .filter(({ unpublished }) => !unpublished);

/** Where a repository file is installed: the package, and the path from node_modules; undefined: in no package. */
function placeOf(path) {
  if (travels(path)) return { owner: '@quern/core', at: join('@quern/core/docs', relative(docs, path)) };
  const owner = packages.find((each) => within(path, [each.path]));
  if (!owner) return undefined;
  const { name, paths, leftOut } = owner;
  const file = path === owner.path ? join(path, 'README.md') : path;
  const ships = existsSync(file) && within(file, paths) && !within(file, leftOut);
  return ships ? { owner: name, at: join(name, relative(owner.path, file)) } : undefined;
}

/** Packages that are installed wherever this one is: itself and its dependencies. */
const present = [
  manifest.name,
  ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(
    (name) => !manifest.peerDependenciesMeta?.[name]?.optional,
  ),
];

/** A page's text with links rewritten from the place `from` in the repository to the path `to` from node_modules. */
function rewritten(from, to) {
  return readFileSync(from, 'utf8').replace(link, (_, label, target, anchor = '') => {
    const path = resolve(dirname(from), target);
    const place = placeOf(path);
    if (!place) return `${label} (${relative(root, path)} in the repository)`;
    const named = present.includes(place.owner) || label.includes(place.owner);
    return `[${label}](${relative(dirname(to), place.at)}${anchor})${named ? '' : ` (in ${place.owner})`}`;
  });
}

function pack() {
  const text = rewritten(readme, join(manifest.name, 'README.md'));
  renameSync(readme, original);
  writeFileSync(readme, text);
  for (const page of carries ? pages() : []) {
    const to = join('docs', relative(docs, page));
    mkdirSync(dirname(join(folder, to)), { recursive: true });
    if (page.endsWith('.md')) writeFileSync(join(folder, to), rewritten(page, join(manifest.name, to)));
    else cpSync(page, join(folder, to), { recursive: true });
  }
}

function restore() {
  if (existsSync(original)) renameSync(original, readme);
  rmSync(join(folder, 'docs'), { recursive: true, force: true });
}

restore(); // cleans up after an interrupted run
if (!process.argv.includes('--restore')) pack();
