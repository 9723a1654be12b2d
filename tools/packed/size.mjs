// What `npm install quern` brings, in bytes and files, and the limits of both.
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Without the pages of @quern/core, which are counted apart. Bytes are those of files, not of blocks of a disk. */
export const limits = { bytes: 14_300_000, files: 410, pageBytes: 550_000, pages: 80 };

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath, path = parentPath }) => join(path, name));

/** The package of a path below node_modules. */
const packageOf = (path) => /^(@[^/]+\/)?[^/]+/.exec(path)[0];

/** `{ packages: { name: { bytes, files } }, pages: { bytes, files } }` of an installed application. */
export function measure(app) {
  const modules = join(app, 'node_modules');
  const found = { packages: {}, pages: { bytes: 0, files: 0 } };
  for (const file of filesBelow(modules)) {
    const path = file.slice(modules.length + 1);
    const name = packageOf(path);
    found.packages[name] ??= { bytes: 0, files: 0 };
    const entry = path.startsWith('@quern/core/docs/') ? found.pages : found.packages[name];
    entry.bytes += statSync(file).size;
    entry.files++;
  }
  return found;
}

const sum = (entries, key) => entries.reduce((total, entry) => total + entry[key], 0);

/** The largest packages by a measure, for a message. */
const largest = (packages, key) =>
  Object.entries(packages)
    .sort(([, a], [, b]) => b[key] - a[key])
    .slice(0, 6)
    .map(([name, entry]) => `${name} ${entry[key]}`)
    .join(', ');

/** What exceeds the limits, with the largest packages. */
export function sizeFaults({ packages, pages }) {
  const entries = Object.values(packages);
  const counted = { bytes: sum(entries, 'bytes'), files: sum(entries, 'files') };
  const faults = ['bytes', 'files']
    .filter((key) => counted[key] > limits[key])
    .map((key) => `${counted[key]} ${key}; the limit is ${limits[key]}. Largest: ${largest(packages, key)}`);
  if (pages.bytes > limits.pageBytes || pages.files > limits.pages)
    faults.push(
      `pages: ${pages.bytes} bytes in ${pages.files} files; the limits are ${limits.pageBytes} and ${limits.pages}`,
    );
  if (pages.files === 0) faults.push('@quern/core has no pages');
  return faults;
}

/** Installs `quern` alone. Returns the folder. */
export async function installAlone(work, npmInstall) {
  const folder = join(work, 'quern-alone');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"name": "quern-alone", "private": true}');
  await npmInstall(['--ignore-scripts', 'quern'], { cwd: folder });
  return folder;
}
