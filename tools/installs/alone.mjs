// Packages installed without the others, globally, and with a backend of somebody else's.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { limits, measure, sizeFaults } from '../packed/size.mjs';
import { root } from '../setup.mjs';
import { packageManagers } from './package-managers.mjs';
import { attempt, expectText } from './table.mjs';
import { anyVersion, installed, npmInstall, project, run, story, work } from './work.mjs';

const part = 'Packages by themselves, installed by npm';

const node = async (cwd, args) => (await run(process.execPath, args, { cwd })).stdout;

/** A package alone, by both module systems: the same exports, and at least one. */
async function useAlone(name, origin) {
  const folder = await installed(`alone/${name.replace('/', '-')}`, origin, {
    dependencies: anyVersion(name),
  });
  const keys = (loaded) =>
    `console.log(Object.keys(${loaded}).filter((key) => key !== 'default').sort().join())`;
  const esm = await node(folder, ['--input-type=module', '-e', keys(`await import('${name}')`)]);
  const commonjs = await node(folder, ['--input-type=commonjs', '-e', keys(`require('${name}')`)]);
  if (esm !== commonjs) throw new Error(`ESM exports ${esm}, CommonJS ${commonjs}`);
  if (esm.trim() === '') throw new Error('it exports nothing');
}

async function useConformance(origin) {
  const folder = await installed('core-conformance', origin, {
    dependencies: anyVersion('@quern/core', '@quern/conformance'),
  });
  const program = `import { contractVersion } from '@quern/core';
    import { knownCodecs } from '@quern/conformance';
    console.log(contractVersion > 0 && knownCodecs.length > 0);`;
  expectText(await node(folder, ['--input-type=module', '-e', program]), /^true$/m);
  const { stdout } = await run(join(folder, 'node_modules/.bin/quern-conformance'), ['--help']);
  expectText(stdout, /^Usage: quern-conformance/);
}

/** Bytes and files, for the table. @throws Error above the limits */
async function measureQuern(origin) {
  const found = measure(await installed('quern-alone', origin, { dependencies: anyVersion('quern') }));
  const faults = sizeFaults(found);
  if (faults.length > 0) throw new Error(faults.join('; '));
  const entries = Object.values(found.packages);
  const sum = (key) => entries.reduce((total, entry) => total + entry[key], 0);
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
  const { pages } = found;
  return `pass: ${megabytes(sum('bytes'))} MB in ${sum('files')} files (limits: ${megabytes(limits.bytes)}, ${limits.files}); with the pages of docs/ ${megabytes(pages.bytes)} MB and ${pages.files} files more`;
}

async function useGlobally(origin) {
  const prefix = join(work, 'global');
  await npmInstall(work, origin, ['--global', '--prefix', prefix, 'quern']);
  const words = ['run', 'demo', '--raw', '-p', 'Once upon a time', '-n', '8', '--temperature', '0'];
  const { stdout } = await run(join(prefix, 'bin/quern'), words);
  expectText(stdout.replace('Once upon a time', ''), story);
}

/** pnpm's folder of links has no package that package.json does not name: the command finds its backend all the same. */
async function useByPnpm(origin) {
  const folder = project('quern-pnpm', { dependencies: anyVersion('quern') });
  await packageManagers.pnpm.install(folder, origin);
  const words = ['run', 'demo', '-p', 'Once', '-n', '2', '--json'];
  const { stdout } = await run(join(folder, 'node_modules/.bin/quern'), words, { cwd: folder });
  expectText(stdout, /"backend":"cpu"/);
}

/** tools/packed/cases/mill: a backend of another name, from its own tarball. */
async function useThirdParty(origin) {
  const mill = join(root, 'tools/packed/cases/mill');
  execFileSync('npm', ['pack', '--pack-destination', work, '--silent'], { cwd: mill, stdio: 'ignore' });
  const tarball = `file:${join(work, 'quern-backend-mill-1.0.0.tgz')}`;
  const dependencies = {
    ...anyVersion('@quern/runtime', '@quern/demo-model'),
    'quern-backend-mill': tarball,
  };
  const folder = await installed('third-party', origin, { dependencies });
  const program = `import { loadModel } from '@quern/runtime';
    const model = await loadModel('demo');
    const { reason } = await model.generate('Once', { maxTokens: 2 }).result;
    console.log(model.backend, reason);
    model.dispose();`;
  expectText(await node(folder, ['--input-type=module', '-e', program]), /^mill length$/m);
}

const row = (project, act) => (context) => attempt({ part, project }, () => act(context));

async function useEachAlone({ origin, tarballs }) {
  for (const name of librariesOf(tarballs))
    await attempt({ part, project: name }, () => useAlone(name, origin));
}

export const aloneCases = [
  {
    name: 'alone/third-party',
    seconds: 2,
    act: row('runtime, another author’s backend, demo model', ({ origin }) => useThirdParty(origin)),
  },
  {
    name: 'alone/global',
    seconds: 2,
    act: row('`npm install --global quern`', ({ origin }) => useGlobally(origin)),
  },
  {
    name: 'alone/pnpm',
    seconds: 2,
    act: row('`pnpm install` of quern', ({ origin }) => useByPnpm(origin)),
  },
  {
    name: 'alone/bytes',
    seconds: 2,
    act: row('`npm install quern`: bytes and files', ({ origin }) => measureQuern(origin)),
  },
  {
    name: 'alone/conformance',
    seconds: 1,
    act: row('core and conformance kit', ({ origin }) => useConformance(origin)),
  },
  { name: 'alone/each', seconds: 14, act: useEachAlone },
];

/** The names of packages that are imported: neither the command nor binaries of a platform. */
export const librariesOf = (tarballs) =>
  tarballs
    .map((file) => file.replace(/-\d+\.\d+\.\d+\.tgz$/, ''))
    .filter((name) => name !== 'quern' && !/-(linux|darwin|win32)-/.test(name))
    .map((name) => name.replace('quern-', '@quern/'));
