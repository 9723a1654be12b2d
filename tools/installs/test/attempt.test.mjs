// A case that fails while npm's registry answers has failed; while it does not answer, the case is skipped.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, test } from 'node:test';

const npm = {
  name: 'npm',
  'dist-tags': { latest: '1.0.0' },
  versions: { '1.0.0': { name: 'npm', version: '1.0.0' } },
};
const registry = createServer((_, response) => response.end(JSON.stringify(npm))).listen(0, '127.0.0.1');
await once(registry, 'listening');
process.env.npm_config_registry = `http://127.0.0.1:${registry.address().port}/`;

const { attempt, counts, rows } = await import('../table.mjs');
const { Absent, registryAnswers } = await import('../network.mjs');
const { work } = await import('../work.mjs');
after(() => rmSync(work, { recursive: true }));

const fail = (error) => () => Promise.reject(error);
const lastRow = () => rows.at(-1);

test('the registry answers: an act passes with its words, or fails with its reason', async () => {
  assert.equal(await registryAnswers(), true);
  assert.equal(await attempt({ part: 'a', project: 'b' }, async () => undefined), true);
  assert.deepEqual(lastRow(), { part: 'a', project: 'b', result: 'pass', state: 'passed' });
  const named = async (row) => {
    row.runtime = 'Node 1';
  };
  assert.equal(await attempt({ part: 'a', project: 'c' }, named), true);
  assert.equal(lastRow().runtime, 'Node 1');
  assert.equal(await attempt({ part: 'a', project: 'd' }, fail(new Error('printed nothing'))), false);
  assert.deepEqual(lastRow(), { part: 'a', project: 'd', result: 'printed nothing', state: 'failed' });
});

test('what this machine lacks is skipped with its reason', async () => {
  assert.equal(await attempt({ part: 'a', project: 'e' }, fail(new Absent('no emulator'))), false);
  assert.deepEqual(lastRow(), { part: 'a', project: 'e', result: 'no emulator', state: 'skipped' });
});

test('no registry answers: what fails is skipped', async () => {
  registry.close();
  registry.closeAllConnections();
  assert.equal(await registryAnswers(), false);
  await attempt({ part: 'a', project: 'f' }, fail(Object.assign(new Error('npm'), { stderr: 'ENOTFOUND' })));
  assert.deepEqual(lastRow(), { part: 'a', project: 'f', result: 'ENOTFOUND', state: 'skipped' });
  assert.deepEqual(counts(), { passed: 2, failed: 1, skipped: 2 });
});
