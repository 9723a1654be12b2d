import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

// Shared by every package: TypeScript through swc, ESM kept as ESM, workspace packages taken from their sources. Files called
// *.all.test.ts run with `npm run test:all` alone (test-scope.ts).
export default {
  testEnvironment: at('./jest.environment.mjs'),
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: process.env.QUERN_TEST === 'all' ? [] : ['\\.all\\.test\\.ts$'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^@quern/core/testing$': at('./packages/core/src/testing/index.ts'),
    '^@quern/(core|conformance|backend-reference|backend-cpu|backend-cuda|backend-metal|native-runtime|quant|grammar|models|runtime|demo-model)$':
      at('./packages/$1/src/index.ts'),
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
  },
};
