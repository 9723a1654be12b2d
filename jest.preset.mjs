import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

const packages = [
  'core',
  'conformance',
  'backend-reference',
  'backend-cpu',
  'backend-cuda',
  'backend-metal',
  'native-runtime',
  'quant',
  'grammar',
  'hub',
  'models',
  'runtime',
  'demo-model',
];

/**
 * Where a package is taken from: its sources, or, in runs of all packages (QUERN_BUILT), what the build just made of
 * them: loading hundreds of modules into every suite takes longer than most tests.
 */
const takenFrom = (name, tested) => {
  const built = process.env.QUERN_BUILT === 'true' && name !== tested;
  const folder = at(`./packages/${name}/${built ? 'dist' : 'src'}`);
  const extension = built ? 'js' : 'ts';
  return [
    ...(name === 'core' ? [['^@quern/core/testing$', `${folder}/testing/index.${extension}`]] : []),
    [`^@quern/${name}$`, `${folder}/index.${extension}`],
  ];
};

/**
 * The configuration of a package's tests: TypeScript through swc, ESM kept as ESM. Files called *.all.test.ts run with
 * `npm run test:all` alone (test-scope.ts). `config`: the URL of the package's jest.config.mjs
 */
export default (config) => ({
  testEnvironment: at('./jest.environment.mjs'),
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: process.env.QUERN_TEST === 'all' ? [] : ['\\.all\\.test\\.ts$'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    ...Object.fromEntries(
      packages.flatMap((name) => takenFrom(name, basename(dirname(fileURLToPath(config))))),
    ),
  },
  transform: {
    '^.+\\.ts$': [
      at('./jest.transform.mjs'),
      {
        jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
    '/packages/[^/]+/dist/.+\\.js$': at('./jest.built.mjs'),
  },
});
