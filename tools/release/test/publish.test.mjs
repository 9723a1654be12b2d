// Publishing planted packages: to a registry on loopback by npm, and by a planted npm.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import getReleasePlan from '@changesets/get-release-plan';
import { binaryFault } from '../../check-binary.mjs';
import { serve } from '../../packed/registry.mjs';
import { root } from '../../setup.mjs';
import { integrityOf, publishAll, repositoryFault, tagOf, verify, withNpm } from '../publish.mjs';
import { inOrder, libraries, platformPackages } from '../workspace.mjs';

const named = (name, needs = {}) => ({ manifest: { name, version: '1.0.0', ...needs } });
const names = (packages) => packages.map(({ manifest }) => manifest.name).join(' ');

test('a package comes after those that it needs', () => {
  const packages = [
    named('c', { optionalDependencies: { b: '*' } }),
    named('b', { peerDependencies: { a: '*', 'not-ours': '*' } }),
    named('d', { dependencies: { c: '*' } }),
    named('a'),
  ];
  assert.equal(names(inOrder(packages)), 'a b c d');
  assert.throws(
    () => inOrder([named('a', { dependencies: { b: '*' } }), named('b', { dependencies: { a: '*' } })]),
    /these packages need each other, so none can be published first: a, b/,
  );
});

test('all packages of the workspace have an order, platform packages before theirs', () => {
  const order = names(inOrder([...libraries(), ...platformPackages()])).split(' ');
  assert.ok(order.includes('quern') && order.includes('@quern/core'));
  for (const { manifest } of libraries())
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
      assert.ok(order.indexOf(name) < order.indexOf(manifest.name), `${name} before ${manifest.name}`);
});

test('a package and its platform packages get their versions together', async () => {
  const { releases } = await getReleasePlan(root);
  const { fixed } = JSON.parse(readFileSync(join(root, '.changeset/config.json'), 'utf8'));
  const planned = (name) => releases.find((each) => each.name === name)?.newVersion;
  for (const { manifest } of platformPackages()) {
    const group = fixed.find(([, pattern]) => manifest.name.startsWith(pattern.replace('*', '')));
    assert.ok(group, `${manifest.name} has no group in .changeset/config.json`);
    assert.equal(planned(manifest.name), planned(group[0]), manifest.name);
  }
});

test('packages must name their repository', () => {
  const withUrl = (url) => named('a', { repository: { url } });
  assert.equal(repositoryFault([withUrl('git+https://github.com/quern/quern.git')]), undefined);
  const unset = [withUrl('git+https://example.com/quern/quern.git'), named('b')];
  assert.match(
    repositoryFault(unset),
    /^2 packages name no repository that exists \(a: git\+https:\/\/example\.com/,
  );
  assert.match(repositoryFault(unset.slice(1)), /^1 packages .* \(b: none\): set repository\.url first/);
});

test('the tag of a prerelease is not latest', () => {
  assert.deepEqual(
    ['1.0.0', '1.0.0-next.1'].map((version) => tagOf(version)),
    ['latest', 'next'],
  );
  assert.equal(tagOf('0.1.9', 'release-0.1'), 'release-0.1');
});

/** A planted npm: a registry with `there`, which refuses the package `refused`. */
function plantedNpm(there, refused) {
  const calls = [];
  const npm = async (command, ...args) => {
    if (command === 'view') {
      if (there[args[0]]) return JSON.stringify(there[args[0]]);
      throw Object.assign(new Error('npm view'), { stderr: 'npm error code E404' });
    }
    const tarball = args.find((arg) => arg.endsWith('.tgz'));
    calls.push([command, ...args].join(' '));
    if (tarball === refused) throw new Error('npm error code E403');
  };
  return { npm, calls };
}
const three = ['a', 'b', 'c'].map((name) => ({ ...named(name), tarball: `${name}.tgz` }));

test('what is there is not published again; a failure ends the publication', async () => {
  const { npm, calls } = plantedNpm({ 'a@1.0.0': 'sha512-a' }, 'b.tgz');
  const lines = [];
  await assert.rejects(
    publishAll(npm, three, {}, (line) => lines.push(line)),
    /E403/,
  );
  assert.deepEqual(lines, ['a@1.0.0 is there already']);
  assert.deepEqual(calls, ['publish b.tgz --access public --tag latest']);
});

test('a registry that does not answer is not an empty one', async () => {
  const npm = async () => {
    throw Object.assign(new Error('npm view'), { stderr: 'npm error code ECONNREFUSED' });
  };
  await assert.rejects(
    publishAll(npm, three, {}, () => {}),
    /npm view/,
  );
});

test('staged and with provenance: the commands', async () => {
  const { npm, calls } = plantedNpm({});
  await publishAll(npm, three.slice(0, 1), { staged: true, provenance: true, tag: 'release-1' }, () => {});
  assert.deepEqual(calls, ['stage publish a.tgz --access public --tag release-1 --provenance']);
});

/** A package packed by npm in a folder. */
function pack(folder, manifest, text) {
  const [source, { name, version }] = [join(folder, manifest.name), manifest];
  mkdirSync(source, { recursive: true });
  writeFileSync(join(source, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(source, 'index.js'), text);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: source });
  return { manifest, tarball: join(folder, `${name}-${version}.tgz`) };
}

test('npm publishes to a registry on loopback, and installs from it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quern-publish-test-'));
  const registry = await serve();
  try {
    const first = pack(folder, { name: 'planted-a', version: '1.0.0' }, 'module.exports = 7;');
    const second = pack(
      folder,
      { name: 'planted-b', version: '1.0.0-next.0', dependencies: { 'planted-a': '^1.0.0' } },
      "module.exports = require('planted-a');",
    );
    await withNpm(registry.origin, async (npm) => {
      assert.equal((await publishAll(npm, [first, second], {}, () => {})).length, 2);
      assert.equal((await publishAll(npm, [first, second], {}, () => {})).length, 0);
      assert.deepEqual(await verify(npm, [first, second], [0]), []);
      const changed = pack(folder, first.manifest, 'module.exports = 8;');
      const [fault] = await verify(npm, [changed], [0]);
      assert.match(fault, /^planted-a@1\.0\.0: the registry has sha512-.*, not sha512-/);
      assert.ok(fault.endsWith(integrityOf(changed.tarball)));
    });
    const app = join(folder, 'app');
    mkdirSync(app);
    writeFileSync(join(app, 'package.json'), '{"private": true}');
    const options = ['--no-audit', '--no-fund', '--registry', registry.origin, 'planted-b@next'];
    await promisify(execFile)('npm', ['install', ...options], { cwd: app });
    assert.equal(
      execFileSync(process.execPath, ['-p', "require('planted-b')"], { cwd: app, encoding: 'utf8' }),
      '7\n',
    );
  } finally {
    registry.close();
    rmSync(folder, { recursive: true });
  }
});

test('a platform package without its binary, with a broken one, and one for NVIDIA without kernels', async () => {
  const work = mkdtempSync(join(tmpdir(), 'quern-binary-'));
  const folder = join(work, 'linux-x64-gnu');
  const cuda = { name: '@quern/backend-cuda-linux-x64-gnu', files: ['backend_cuda.node'] };
  const cpu = { ...cuda, name: '@quern/backend-cpu-linux-x64-gnu' };
  try {
    mkdirSync(folder);
    assert.match(
      await binaryFault(folder, cuda),
      /backend_cuda\.node has not been built: this package is not published/,
    );
    writeFileSync(join(folder, 'backend_cuda.node'), 'no kernels');
    assert.match(await binaryFault(folder, cuda), /has no kernels for GPUs/);
    writeFileSync(join(folder, 'backend_cuda.node'), Buffer.from('50ed55ba01001000', 'hex')); // kernels alone
    assert.match(await binaryFault(folder, cuda), /backend_cuda\.node: its 8 bytes are no addon/);
    assert.match(await binaryFault(folder, cpu), /^@quern\/backend-cpu-linux-x64-gnu: backend_cuda\.node: /);
  } finally {
    rmSync(work, { recursive: true });
  }
});
