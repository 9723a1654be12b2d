// Versions of core and of backends that were not made for each other: they work, or one sentence says what to update. The other versions
// are planted: copies of the packed packages with another version, peer range or contract.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '../packed/registry.mjs';
import { root } from '../setup.mjs';
import { attempt, expectText } from './table.mjs';
import { npmInstall, project, run, work } from './work.mjs';

const part = 'Versions that differ';

const edit = (path, change) => writeFileSync(path, change(readFileSync(path, 'utf8')));
const withFields = (fields) => (text) => JSON.stringify({ ...JSON.parse(text), ...fields });

/** A copy of a packed package with changed files. */
function plant(to, tarball, name, { fields, texts = {} }) {
  const folder = join(work, 'planted', `${name}-${fields.version}`);
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', folder]);
  edit(join(folder, 'package/package.json'), withFields(fields));
  for (const [path, change] of Object.entries(texts)) edit(join(folder, 'package', path), change);
  execFileSync('tar', ['-czf', join(to, `${name}-${fields.version}.tgz`), '-C', folder, 'package']);
}

/** Core of another version and contract. */
function plantCore(to, packs, version, contract) {
  const change = (text) => text.replace(/\bcontractVersion = \d+;/, `contractVersion = ${contract};`);
  const texts = { 'dist/index.js': change, 'dist/index.cjs': change };
  plant(to, join(packs, 'quern-core-0.1.0.tgz'), 'quern-core', { fields: { version }, texts });
}

/** Another author's backend, written for a contract. */
function plantMill(to, version, core, contract) {
  const folder = join(work, 'planted', `mill-${version}`);
  cpSync(join(root, 'tools/packed/cases/mill'), folder, { recursive: true });
  edit(join(folder, 'package.json'), withFields({ version, peerDependencies: { '@quern/core': core } }));
  edit(join(folder, 'index.js'), (text) =>
    text.replace("name: 'mill'", `name: 'mill', contract: ${contract}`),
  );
  execFileSync('npm', ['pack', '--pack-destination', to, '--silent'], { cwd: folder, stdio: 'ignore' });
}

/** A registry with older and newer versions beside today's. */
function plantAll({ packs, tarballs }, contract) {
  const folder = join(work, 'planted/packs');
  mkdirSync(folder, { recursive: true });
  for (const file of tarballs) copyFileSync(join(packs, file), join(folder, file));
  plantCore(folder, packs, '0.0.9', contract - 1);
  plantCore(folder, packs, '0.2.0', contract);
  plantCore(folder, packs, '0.3.0', contract + 1);
  plantMill(folder, '1.0.0', '>=0.1.0 <1', contract);
  plantMill(folder, '2.0.0', '>=0.2.0 <1', contract + 1);
  return folder;
}

const program = `import { loadModel } from '@quern/runtime';
  const model = await loadModel('demo', { backend: process.argv[1] });
  const { reason } = await model.generate('Once', { maxTokens: 2 }).result;
  console.log(model.backend, reason);
  model.dispose();`;

/** Installs these versions and loads the demo model on the backend. Returns what was printed. @throws the error of npm or of Node */
async function use(origin, name, backend, versions, flags) {
  const dependencies = { '@quern/runtime': '0.1.0', '@quern/demo-model': '0.1.0', ...versions };
  const folder = project(`versions/${name}`, { dependencies });
  await npmInstall(folder, origin, flags);
  return (await run(process.execPath, ['--input-type=module', '-e', program, backend], { cwd: folder }))
    .stdout;
}

const works = (backend) => async (act) => expectText(await act(), new RegExp(`^${backend} length$`, 'm'));

/** The sentence, for the table. */
const refuses = (sentence) => async (act) => {
  const text = await act().then(
    (printed) => `no error; it printed ${printed}`,
    ({ stderr }) => stderr,
  );
  const [found] = sentence.exec(text) ?? [];
  if (found === undefined) throw new Error(`${text.slice(0, 300)} has no ${sentence}`);
  return `refused: ${found.replace(/\s+/g, ' ')}`;
};

const forced = ['--legacy-peer-deps'];
const peer = /peer @quern\/core@"[^"]+" from \S+/;

/** [project, expected, backend, versions, flags of npm] */
const casesOf = (contract) => [
  [
    'core 0.2.0, a later one of the same contract',
    works('cpu'),
    'cpu',
    { '@quern/core': '0.2.0', '@quern/backend-cpu': '0.1.0' },
  ],
  [
    'another author’s backend of the same contract, core 0.2.0',
    works('mill'),
    'mill',
    { '@quern/core': '0.2.0', 'quern-backend-mill': '1.0.0' },
  ],
  [
    'core 0.0.9, older than the packages accept',
    refuses(peer),
    'cpu',
    { '@quern/core': '0.0.9', '@quern/backend-cpu': '0.1.0' },
  ],
  [
    `the same, forced; its contract is ${contract - 1}`,
    refuses(/was made for contract[^\n]*|does not provide an export[^\n]*/),
    'cpu',
    { '@quern/core': '0.0.9', '@quern/backend-cpu': '0.1.0' },
    forced,
  ],
  [
    `core 0.3.0 of contract ${contract + 1}`,
    refuses(/was made for contract[^\n]*/),
    'cpu',
    { '@quern/core': '0.3.0', '@quern/backend-cpu': '0.1.0' },
  ],
  [
    'a backend that needs core 0.2.0, core 0.1.0',
    refuses(peer),
    'mill',
    { '@quern/core': '0.1.0', 'quern-backend-mill': '2.0.0' },
  ],
  [
    `the same, forced; the backend’s contract is ${contract + 1}`,
    refuses(/was made for contract[^\n]*/),
    'mill',
    { '@quern/core': '0.1.0', 'quern-backend-mill': '2.0.0' },
    forced,
  ],
];

/** The contract of the packed core. */
function contractOf(packs) {
  const tarball = join(packs, 'quern-core-0.1.0.tgz');
  const text = execFileSync('tar', ['-xzOf', tarball, 'package/dist/index.cjs'], {
    maxBuffer: 1 << 26,
  }).toString();
  return Number(/\bcontractVersion\s*=\s*(\d+);/.exec(text)[1]);
}

async function checkVersions(context) {
  const contract = contractOf(context.packs);
  const registry = await serve(plantAll(context, contract), context.upstream);
  try {
    for (const [i, [name, expected, backend, versions, flags = []]] of casesOf(contract).entries())
      await attempt({ part, project: name }, () =>
        expected(() => use(registry.origin, String(i), backend, versions, flags)),
      );
  } finally {
    registry.close();
  }
}

export const versionCases = [{ name: 'versions', seconds: 8, act: checkVersions }];
