// Programs in a realm of their own: node:vm's, and those of test runners.
import { join } from 'node:path';
import { root } from '../setup.mjs';
import { attempt, expectText } from './table.mjs';
import { anyVersion, installed, run, story } from './work.mjs';

const part = 'Test runners';
const quern = anyVersion('@quern/runtime', '@quern/backend-cpu', '@quern/demo-model');

async function useRealm(origin) {
  const folder = await installed('realm', origin, { dependencies: quern, copied: ['other-realm.cjs'] });
  expectText((await run(process.execPath, ['other-realm.cjs'], { cwd: folder })).stdout, story);
}

/** The repository's Jest. */
async function useJest(origin) {
  const folder = await installed('jest', origin, { dependencies: quern, copied: ['jest.test.cjs'] });
  const config = JSON.stringify({ rootDir: folder, testMatch: ['**/jest.test.cjs'], transform: {} });
  const bin = join(root, 'node_modules/jest/bin/jest.js');
  const { stderr } = await run(process.execPath, [bin, '--config', config], { cwd: folder });
  expectText(stderr, /✓ the demo model writes/);
}

async function useVitest(origin) {
  const dependencies = { ...quern, vitest: '*' };
  const folder = await installed('vitest', origin, { dependencies, copied: ['vitest.test.mjs'] });
  const args = ['run', '--pool=vmThreads', '--reporter=verbose'];
  const { stdout } = await run(join(folder, 'node_modules/.bin/vitest'), args, { cwd: folder });
  expectText(stdout, /1 passed/);
}

const runnerCase = (name, seconds, project, act) => ({
  name: `runners/${name}`,
  seconds,
  act: ({ origin }) => attempt({ part, project }, () => act(origin)),
});

export const runnerCases = [
  runnerCase('realm', 3, 'CommonJS in a context of node:vm', useRealm),
  runnerCase('jest', 2, 'Jest, CommonJS', useJest),
  runnerCase('vitest', 6, 'vitest, `--pool=vmThreads`', useVitest),
];
