import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installCommand } from './installed.js';

test.each([
  [
    'lacks an export',
    'export const contractVersion = 2;',
    /'@quern\/core' does not provide an export named '\w+'/,
  ],
  ['is not there', undefined, /'@quern\/core' imported from/],
])('a core that %s: a sentence with the cure, without a stack', (_name, text, message) => {
  const { folder, script } = installCommand(['core']);
  const core = join(folder, 'node_modules/@quern/core');
  if (text !== undefined) {
    mkdirSync(core);
    const manifest = { name: '@quern/core', version: '0.0.1', type: 'module', exports: './index.js' };
    writeFileSync(join(core, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(core, 'index.js'), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, 'devices'], { encoding: 'utf8' });
  expect([status, stderr.trim().split('\n').length]).toEqual([1, 1]);
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(
    /^quern: the installed packages of Quern do not fit together: .*npm install quern@latest/,
  );
});
