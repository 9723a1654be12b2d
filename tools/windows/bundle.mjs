// One module of a Jest test file, our sources and jest-circus, for runtimes that do not run Jest: node.exe under wine, Bun. Each source
// keeps its own import.meta.url, as the runtime names the file.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { root } from '../setup.mjs';

/** `require` of the last package; each is a dependency of the one before. */
const requireOf = (...packages) =>
  packages.reduce(
    (require, name) => createRequire(require.resolve(`${name}/package.json`)),
    createRequire(join(root, 'package.json')),
  );
const { build } = requireOf('tsup')('esbuild');
const config = requireOf('jest', 'jest-cli', 'jest-config');

const tools = {
  'jest-circus': config.resolve('jest-circus'),
  '@jest/expect': requireOf('jest', 'jest-cli', 'jest-config', 'jest-circus').resolve('@jest/expect'),
};

const sourceOf = (name) => join(root, 'packages', name, 'src/index.ts');

/** Windows under wine: where addons are built, and the URL of a path. */
const underWine = { platform: 'win32-x64', urlOf: (path) => `file:///Z:${path}` };

const ownSources = ({ platform, urlOf }) => ({
  name: 'own-sources',
  setup(all) {
    all.onResolve({ filter: /^@quern\/core\/testing$/ }, () => ({
      path: join(root, 'packages/core/src/testing/index.ts'),
    }));
    all.onResolve({ filter: /^@quern\/[^/]+$/ }, ({ path }) => ({
      path: sourceOf(path.slice('@quern/'.length)),
    }));
    all.onResolve({ filter: /^(jest-circus|@jest\/expect)$/ }, ({ path }) => ({ path: tools[path] }));
    all.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: readFileSync(path, 'utf8')
        .replaceAll('../build/Release/', `../build/${platform}/Release/`)
        .replaceAll('import.meta.url', `'${urlOf(path)}'`),
    }));
  },
});

const entryOf = (file) =>
  `import { runTests } from '${join(root, 'tools/windows/circus.mjs')}';
await runTests('${basename(file)}', () => import('${file}'));`;

/** Writes the bundle of `file` to `outfile`, which ends in `.mjs`. */
export async function bundleTests(file, outfile, target = underWine) {
  await build({
    stdin: { contents: entryOf(file), resolveDir: join(root, 'tools/windows'), loader: 'js' },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
    banner: {
      // jest-circus resolves its own folders to shorten stacks
      js: `import { createRequire as makeRequire } from 'node:module';
const require = Object.assign(makeRequire(import.meta.url), { resolve: (name) => name });
const __dirname = '.', __filename = 'bundle';`,
    },
    external: ['@babel/core', '@babel/preset-typescript'],
    plugins: [ownSources(target)],
  });
}
