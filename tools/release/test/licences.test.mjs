// Licences that dependencies may have.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../setup.mjs';
import { isAllowed, licenceFault } from '../licences.mjs';

/** [expression, whether we may choose allowed licences alone] */
const cases = [
  ['MIT', true],
  ['(AFL-2.1 OR BSD-3-Clause)', true],
  ['MIT AND Apache-2.0', true],
  ['GPL-3.0-only OR MIT AND ISC', true],
  ['MIT AND GPL-3.0-only', false],
  ['GPL-3.0-only', false],
  ['(MIT AND (GPL-3.0-only OR ISC))', false],
  ['SEE LICENSE IN LICENSE.md', false],
  ['Unknown', false],
  ['', false],
];

for (const [expression, expected] of cases)
  test(`the licence '${expression}'`, () => assert.equal(isAllowed(expression), expected));

test('an exception holds for its package and its licence alone', () => {
  assert.equal(licenceFault({ name: 'codec-parser', license: 'LGPL-3.0-or-later' }), undefined);
  assert.match(
    licenceFault({ name: 'other', license: 'LGPL-3.0-or-later' }),
    /^other has the licence LGPL-3\.0-or-later, which is not in the list/,
  );
  assert.match(
    licenceFault({ name: 'codec-parser', license: 'AGPL-3.0-only' }),
    /codec-parser has the licence AGPL/,
  );
});

test('the list of the workspace is current, and its licences are allowed', () => {
  const program = join(root, 'tools/generate-licences-doc.mjs');
  const { status, stderr } = spawnSync(process.execPath, [program, '--check'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});
