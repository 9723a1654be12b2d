// Packs every package as for publishing, with this machine's binaries, and checks the contents.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { peerRange } from '../set-peers.mjs';
import { packageManager, root } from '../setup.mjs';

const run = (command, args) =>
  execFileSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 1 << 28,
    env: { ...process.env, npm_config_loglevel: 'error' },
  }).toString();

/** Filters that leave out packages which are not published. */
const notPrivate = readdirSync(join(root, 'packages')).flatMap((folder) => {
  const manifest = JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'));
  return manifest.private ? ['--filter', `!${manifest.name}`] : [];
});

/** Declarations that package.json promises and no build has made. */
function missingDeclarations() {
  const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name));
  return folders.flatMap((folder) => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const promised =
      JSON.stringify([manifest.types, manifest.exports]).match(/\.\/dist\/[^"]+\.d\.c?ts/g) ?? [];
    return manifest.private
      ? []
      : promised.map((path) => join(folder, path)).filter((path) => !existsSync(path));
  });
}

/** Packs all packages into a folder. Throws where the build made no declarations. */
export function packAll(folder) {
  const [missing, ...others] = missingDeclarations();
  if (missing !== undefined)
    throw new Error(
      `${missing} and ${others.length} more declarations are missing: build first, as \`npm run pack\` does`,
    );
  spawnSync(process.execPath, ['tools/stage-prebuilds.mjs'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  }); // a refused one is not packed
  run('npx', [
    '--yes',
    packageManager,
    '-r',
    '--filter',
    './packages/**',
    ...notPrivate,
    'pack',
    '--pack-destination',
    folder,
  ]);
  return readdirSync(folder).filter((file) => file.endsWith('.tgz'));
}

const filesOf = (tarball) =>
  run('tar', ['-tzf', tarball])
    .trim()
    .split('\n')
    .map((path) => path.replace('package/', ''));

/** Broken links of a tarball's pages. */
export function linkFaults(folder, file) {
  const tarball = join(folder, file);
  const files = filesOf(tarball);
  const there = (path) => files.includes(path) || files.some((name) => name.startsWith(`${path}/`));
  return files
    .filter((name) => name.endsWith('.md'))
    .flatMap((page) => {
      const text = run('tar', ['-xzOf', tarball, `package/${page}`]);
      const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map(([, target]) => target);
      const dead = links.filter((target) => !there(posix.normalize(posix.join(posix.dirname(page), target))));
      return dead.map((target) => `${page} links to ${target}, which is not there`);
    });
}

/** Faults of a tarball: missing files, unneeded files, fields of package.json. */
export function contentFaults(folder, file) {
  const files = filesOf(join(folder, file));
  const manifest = JSON.parse(run('tar', ['-xzOf', join(folder, file), 'package/package.json']));
  const platform = manifest.os !== undefined;
  const expected = ['LICENSE', 'package.json', ...(platform ? [] : ['README.md'])];
  return [
    ...expected.filter((name) => !files.includes(name)).map((name) => `lacks ${name}`),
    ...files.filter((name) => /(^|\/)(test|node_modules|src)\//.test(name)).map((name) => `has ${name}`),
    ...['engines', 'license', 'repository', 'files']
      .filter((field) => !manifest[field])
      .map((field) => `package.json lacks ${field}`),
    ...['preinstall', 'install', 'postinstall']
      .filter((script) => manifest.scripts?.[script])
      .map((script) => `has the install script ${script}`),
    ...Object.entries(manifest.peerDependencies ?? {})
      .filter(([name, range]) => name.startsWith('@quern/') && range !== peerRange(name))
      .map(
        ([name, range]) => `its peer ${name} is ${range}, not ${peerRange(name)}: node tools/set-peers.mjs`,
      ),
    ...(JSON.stringify(manifest).includes('workspace:') ? ['has a version of the workspace'] : []),
  ];
}

/** Sources of other packages bundled into this one: each package must be installed once, not copied. */
export function foreignSources(folder) {
  const maps = readdirSync(folder).filter((file) => file.endsWith('.map'));
  const sources = maps.flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')).sources);
  return sources.filter((source) => !source.startsWith('../src/'));
}
