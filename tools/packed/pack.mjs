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

const manifestOf = (tarball) => JSON.parse(run('tar', ['-xzOf', tarball, 'package/package.json']));

/** The packages of a folder's tarballs, with their files by paths from node_modules. */
export const packedIn = (folder) =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.tgz'))
    .map((file) => {
      const { name, dependencies, peerDependencies } = manifestOf(join(folder, file));
      const files = filesOf(join(folder, file)).map((path) => `${name}/${path}`);
      return { file, name, needs: Object.keys({ ...dependencies, ...peerDependencies }), files };
    });

/** Links to files: label, target, and a word behind it such as "(in @quern/server)". */
const fileLink =
  /\[((?:[^[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)\s]*)?\)(?: \(in ([^)]*)\))?/g;

/** Links to files that no package has, and those to a package that need not be there and is not named. */
export function linkFaults(folder, file, packed) {
  const { name, needs, files } = packed.find((each) => each.file === file);
  const faultOf = (page, [, label, target, stated]) => {
    const path = posix.normalize(posix.join(posix.dirname(page), target));
    const has = (each) => each === path || each.startsWith(`${path}/`);
    const owner = packed.find((each) => each.files.some(has))?.name;
    if (owner === undefined) return [`${page} links to ${target}, which is not there`];
    if (owner === name || needs.includes(owner) || stated === owner || label.includes(owner)) return [];
    return [`${page} links to ${target} without the name of ${owner}, which need not be there`];
  };
  return files
    .filter((path) => path.endsWith('.md'))
    .flatMap((page) => {
      const text = run('tar', ['-xzOf', join(folder, file), page.replace(name, 'package')]);
      return [...text.matchAll(fileLink)].flatMap((found) => faultOf(page, found));
    });
}

const isUnneeded = /(^|\/)(test|node_modules|src)\/|\.map$|-worker\.cjs$/;

/** Faults of a tarball: missing files, unneeded files, fields of package.json. */
export function contentFaults(folder, file) {
  const files = filesOf(join(folder, file));
  const manifest = manifestOf(join(folder, file));
  const platform = manifest.os !== undefined;
  const expected = ['LICENSE', 'package.json', ...(platform ? [] : ['README.md'])];
  return [
    ...expected.filter((name) => !files.includes(name)).map((name) => `lacks ${name}`),
    ...files.filter((name) => isUnneeded.test(name)).map((name) => `has ${name}`),
    ...(manifest.name === '@quern/core' ? [] : files)
      .filter((name) => name.startsWith('docs/'))
      .map((name) => `has ${name}; pages travel in @quern/core alone`),
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

/**
 * Sources of others bundled into this package: our packages are installed once, not copied; others are copied if their licences are
 * there, too.
 */
export function foreignSources(folder) {
  const maps = readdirSync(folder).filter((file) => file.endsWith('.map'));
  const sources = maps.flatMap((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')).sources);
  const licences = join(folder, 'third-party-licenses.txt');
  const text = existsSync(licences) ? readFileSync(licences, 'utf8') : '';
  const isLicensed = (source) => {
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source) ?? [];
    return name !== undefined && !name.startsWith('@quern/') && new RegExp(`^${name} \\d`, 'm').test(text);
  };
  return sources.filter((source) => !/^(\.\.\/src\/|builtin:|parts:)/.test(source) && !isLicensed(source));
}
