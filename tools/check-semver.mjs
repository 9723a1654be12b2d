// Compares the API reports with those of each package's last release, and fails where the planned version is too small: before 1.0 a
// removed or changed export needs a minor version and an added one a patch; from 1.0 on a major and a minor one. The planned version
// is what the changesets give. `--base main` compares with the merge base with a branch in place of the last release.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import getReleasePlan from '@changesets/get-release-plan';
import { faultsOf } from './release/semver.mjs';
import { differences } from './release/surface.mjs';
import { libraries } from './release/workspace.mjs';
import { root } from './setup.mjs';

const value = (name) =>
  process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined;
/** The repository; tests give another. */
const repository = value('--root') ?? root;
const base = value('--base');

const git = (...args) =>
  execFileSync('git', args, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

/** The commit that a package is compared with; undefined: the package was never released. */
function baseOf(name) {
  if (base !== undefined) return git('merge-base', base, 'HEAD');
  const tags = git('tag', '--merged', 'HEAD', '--sort=-version:refname', '--list', `${name}@*`).split('\n');
  return tags.find((tag) => /@\d+\.\d+\.\d+$/.test(tag));
}

/** The text of a file in a commit; undefined: absent. */
function textAt(commit, file) {
  const there = git('ls-tree', '--name-only', commit, '--', file) !== '';
  return there ? git('show', `${commit}:${file}`) : undefined;
}

const entriesAt = (commit, folder) =>
  git('ls-tree', '--name-only', commit, '--', `${folder}/api/`).split('\n').filter(Boolean);

const entriesNow = (folder) =>
  existsSync(join(repository, folder, 'api'))
    ? readdirSync(join(repository, folder, 'api')).map((file) => `${folder}/api/${file}`)
    : [];

/** Per entry point, what differs. A report that is absent has no exports. */
function compare({ folder: path, manifest: { name, version } }, planned) {
  const [folder, commit] = [relative(repository, path), baseOf(name)];
  const manifest = commit && textAt(commit, `${folder}/package.json`);
  if (!manifest) return undefined;
  const [from, to] = [JSON.parse(manifest).version, planned.get(name) ?? version];
  const files = [...new Set([...entriesAt(commit, folder), ...entriesNow(folder)])];
  return files.map((file) => {
    const now = existsSync(join(repository, file)) ? readFileSync(join(repository, file), 'utf8') : '';
    const entry = file.split('/').at(-1).replace('.api.md', '');
    return { name, entry, from, to, differences: differences(textAt(commit, file) ?? '', now) };
  });
}

const { releases } = await getReleasePlan(repository);
const planned = new Map(releases.map(({ name, newVersion }) => [name, newVersion]));
const compared = libraries(repository).flatMap((each) => compare(each, planned) ?? []);
const faults = compared.flatMap(faultsOf);
for (const fault of faults) console.error(fault);
if (compared.length === 0) console.log('no package has a release tag yet: there is no API to compare with');
else console.log(`${compared.length} API reports compared, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
