// Writes docs/licences.md: every package that ours install, with its licence. --check: writes nothing, fails if the page is stale.
// Both fail on a licence outside the list of tools/release/licences.mjs.
import { bundledLibraries } from './release/bundled.mjs';
import { exceptions, licenceFault } from './release/licences.mjs';
import { table, writePage } from './release/page.mjs';
import { libraries } from './release/workspace.mjs';
import { packageManager, run } from './setup.mjs';

const filters = libraries().flatMap(({ manifest }) => ['--filter', manifest.name]);
const list = ['licenses', 'list', '--prod', '--json'];
const { stdout } = run('npx', ['--yes', packageManager, ...filters, ...list], { quiet: true });
const dependencies = Object.values(JSON.parse(String(stdout)))
  .flat()
  .sort((a, b) => (a.name < b.name ? -1 : 1));

const rows = dependencies.map(({ name, versions, license, homepage }) => [
  homepage ? `[${name}](${homepage})` : name,
  versions.join(', '),
  license,
]);
const reasons = dependencies
  .filter(({ name }) => name in exceptions)
  .map(({ name, license }) => `- **${name}** (${license}): ${exceptions[name].why}.`);

/** One row per library: [name, version, licence, our packages that have a copy]. */
function bundledRows() {
  const byName = new Map();
  for (const { owner, name, version, license } of bundledLibraries()) {
    const row = byName.get(`${name} ${version}`) ?? [name, version, license, []];
    row[3].push(owner);
    byName.set(`${name} ${version}`, row);
  }
  const sorted = [...byName.values()].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([name, version, license, owners]) => [name, version, license, owners.join(', ')]);
}

writePage(
  'docs/licences.md',
  'tools/generate-licences-doc.mjs',
  `# Licences of dependencies

Every package that the packages of this repository install, directly or through others, optional ones included. Development tools are not in
the list: nobody installs them with Quern. \`node tools/generate-licences-doc.mjs --check\` fails on a licence that is not in the list of
[tools/release/licences.mjs](../tools/release/licences.mjs). Quern itself: Apache-2.0.

${table(['package', 'versions', 'licence'], rows)}

Exceptions from the list:

${reasons.join('\n')}

Libraries in our built files. Their licences travel in each package's \`dist/third-party-licenses.txt\`; a build stops at a licence that is
not permitted.

${table(['library', 'version', 'licence', 'in'], bundledRows())}`,
);

const faults = dependencies.map(licenceFault).filter((fault) => fault !== undefined);
for (const fault of faults) console.error(fault);
if (dependencies.length === 0) console.error('pnpm listed no dependencies: npx pnpm install');
if (faults.length > 0 || dependencies.length === 0) process.exitCode = 1;
