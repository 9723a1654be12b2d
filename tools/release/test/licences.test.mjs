// Licences that dependencies may have.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../setup.mjs';
import { readNotices, withBundled } from '../bundled.mjs';
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

test('the notices of a build name its libraries', () => {
  const text = `hono 4.13.19 (MIT)\n\nMIT License\n(c) (MIT)\n\n${'-'.repeat(80)}\n\n@scope/name 1.0.0-rc.1 (Apache-2.0)\n\ntext\n`;
  assert.deepEqual(readNotices(text), [
    { name: 'hono', version: '4.13.19', license: 'MIT' },
    { name: '@scope/name', version: '1.0.0-rc.1', license: 'Apache-2.0' },
  ]);
  assert.throws(
    () => readNotices('MIT License\n'),
    /first line is not "name version \(licence\)": MIT License/,
  );
});

test('a bill of materials has the bundled libraries of its package alone', () => {
  const bill = {
    metadata: { component: { group: '@quern', name: 'server', 'bom-ref': 'server' } },
    components: [{ name: 'core' }],
    dependencies: [{ ref: 'server', dependsOn: ['core'] }, { ref: 'core' }],
  };
  const library = { name: '@hono/node-server', version: '2.1.9', license: 'MIT' };
  const { components, dependencies } = withBundled(bill, [
    { owner: '@quern/server', ...library },
    { owner: 'quern', ...library, name: 'commander' },
  ]);
  const purl = 'pkg:npm/%40hono/node-server@2.1.9';
  assert.deepEqual(
    components.map((each) => each.purl ?? each.name),
    ['core', purl],
  );
  assert.deepEqual(components[1].licenses, [{ license: { id: 'MIT' } }]);
  assert.deepEqual(dependencies, [{ ref: 'server', dependsOn: ['core', purl] }, { ref: 'core' }]);
});
