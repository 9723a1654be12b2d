// The declarations as applications compile them, and what publint and @arethetypeswrong/cli say of each package.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { publintFaults } from '../packed/types.mjs';
import { librariesOf } from './alone.mjs';
import { attempt } from './table.mjs';
import { anyVersion, project, run } from './work.mjs';

const part = 'Types, and the form of packages';
const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
const program = new URL('./files/use.mts', import.meta.url);
const compilers = ['5.7', '6.0', '7.0'];

const strict = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
  skipLibCheck: false,
};
const ways = {
  'nodenext, ESM': ['use.mts', { module: 'nodenext' }],
  'nodenext, CommonJS': ['use.cts', { module: 'nodenext' }],
  bundler: ['use.ts', { module: 'esnext', moduleResolution: 'bundler' }],
};

async function checkCompiler(version, names, origin) {
  const dependencies = { ...anyVersion(...names), typescript: `~${version}`, '@types/node': '^20' };
  const folder = project(`types-${version}`, { dependencies, manifest: { type: 'module' } });
  for (const [file] of Object.values(ways)) copyFileSync(program, join(folder, file));
  await run('npm', ['install', ...quiet], { cwd: folder, env: { npm_config_registry: origin } });
  for (const [way, [file, options]] of Object.entries(ways))
    await attempt({ part, project: `TypeScript ${version}, strict, ${way}` }, async () => {
      const flags = Object.entries({ ...strict, ...options }).flatMap(([name, value]) => [
        `--${name}`,
        String(value),
      ]);
      await run(process.execPath, ['node_modules/typescript/bin/tsc', ...flags, file], { cwd: folder });
    });
  return folder;
}

/** @arethetypeswrong/cli, without resolution by TypeScript's node10, which knows no `exports`. */
async function checkForm(folder, name, tarball) {
  const attw = join(folder, 'node_modules/.bin/attw');
  const ignored = name === '@quern/native-runtime' ? ['--exclude-entrypoints', 'cmake'] : []; // a file for CMake
  await attempt({ part, project: `${name}: publint, @arethetypeswrong/cli` }, async () => {
    const faults = await publintFaults(folder, name);
    if (faults.length > 0) throw new Error(faults.join('; '));
    await run(attw, [tarball, '--profile', 'node16', '--format', 'ascii', '--no-color', ...ignored], {
      cwd: folder,
    });
  });
}

export async function checkTypes({ origin, packs, tarballs }) {
  const names = librariesOf(tarballs);
  let folder;
  for (const version of compilers) folder = await checkCompiler(version, names, origin);
  const env = { npm_config_registry: origin };
  await run('npm', ['install', ...quiet, '--no-save', '@arethetypeswrong/cli@0.18', 'quern'], {
    cwd: folder,
    env,
  });
  for (const name of names) {
    const file = tarballs.find((each) => each.startsWith(`${name.replace('@', '').replace('/', '-')}-0`));
    await checkForm(folder, name, join(packs, file));
  }
  await attempt({ part, project: 'quern: publint' }, async () => {
    const faults = await publintFaults(folder, 'quern');
    if (faults.length > 0) throw new Error(faults.join('; '));
  });
}
