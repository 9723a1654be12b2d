// The workflows of GitHub, which do not run here: their files parse, what they call exists, and they may do no more than they must.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { addons, platforms } from '../../platforms/platforms.mjs';
import { root } from '../../setup.mjs';

const folder = join(root, '.github/workflows');
const read = (path) => readFileSync(join(root, path), 'utf8');
const workflows = readdirSync(folder).map((name) => ({ name, ...parse(read(`.github/workflows/${name}`)) }));
const jobs = workflows.flatMap(({ name, jobs }) =>
  Object.entries(jobs).map(([job, content]) => ({ label: `${name}, ${job}`, ...content })),
);
const steps = jobs.flatMap(({ label, steps = [] }) => steps.map((step) => ({ label, ...step })));
const commands = steps.flatMap(({ label, run = '', with: { version = '' } = {} }) => [
  { label, text: run },
  { label, text: version },
]);
const matches = (pattern) =>
  commands.flatMap(({ label, text }) =>
    [...String(text).matchAll(pattern)].map((match) => ({ label, match })),
  );

const rootManifest = JSON.parse(read('package.json'));
const manifests = readdirSync(join(root, 'packages')).map((name) =>
  JSON.parse(read(`packages/${name}/package.json`)),
);

test('every program that a step runs exists', () => {
  const programs = matches(/\bnode (\S+\.mjs)/g);
  assert.ok(programs.length >= 8);
  for (const { label, match } of programs)
    assert.ok(existsSync(join(root, match[1])), `${label}: ${match[1]}`);
});

test('every script that a step runs exists', () => {
  const scripts = matches(/\b(?:npm|pnpm@\S+) run (\S+)/g);
  assert.ok(scripts.some(({ match }) => match[1] === 'version-packages'));
  for (const { label, match } of scripts) assert.ok(rootManifest.scripts[match[1]], `${label}: ${match[1]}`);
  const filtered = matches(/--filter (\S+) (\S+)/g);
  assert.ok(filtered.length >= 1);
  for (const { label, match } of filtered) {
    const manifest = manifests.find(({ name }) => name === match[1]);
    assert.ok(manifest?.scripts[match[2]], `${label}: ${match[0]}`);
  }
});

test('pnpm has the version of the repository', () => {
  const managers = matches(/\bpnpm@[\d.]+/g);
  assert.ok(managers.length >= 5);
  for (const { label, match } of managers) assert.equal(match[0], rootManifest.packageManager, label);
});

test('actions are named by commit, own workflows exist', () => {
  const used = [...steps, ...jobs].filter(({ uses }) => uses !== undefined);
  assert.ok(used.length >= 10);
  for (const { label, uses } of used)
    if (uses.startsWith('./')) assert.ok(existsSync(join(root, uses)), `${label}: ${uses}`);
    else assert.match(uses, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/, label);
});

test('one commit for each action', () => {
  const commits = new Map();
  for (const { uses = '' } of steps) {
    const [name, commit] = uses.split('@');
    commits.set(name, (commits.get(name) ?? new Set()).add(commit));
  }
  for (const [name, found] of commits) assert.equal(found.size, 1, name);
});

test('permissions are stated, an identity token is for the publishing job alone, and there are no secrets', () => {
  for (const workflow of workflows) assert.ok(workflow.permissions, workflow.name);
  const { permissions, jobs: release } = workflows.find(({ name }) => name === 'release');
  assert.deepEqual(permissions, {});
  for (const [name, job] of Object.entries(release)) {
    assert.ok(job.permissions, name);
    assert.equal(job.permissions['id-token'], name === 'publish' ? 'write' : undefined, name);
  }
  for (const name of readdirSync(folder))
    assert.doesNotMatch(read(`.github/workflows/${name}`), /\bsecrets\./);
});

test('a job that pushes keeps the credentials of git, and no other does', () => {
  for (const { label, uses, with: { 'persist-credentials': kept } = {} } of steps)
    if (uses?.startsWith('actions/checkout@'))
      assert.equal(kept, label.endsWith(', tag') ? undefined : false, label);
});

test('needs names jobs, and every job has a limit of time', () => {
  for (const { name, jobs } of workflows)
    for (const [job, { needs = [], uses, 'timeout-minutes': limit }] of Object.entries(jobs)) {
      for (const needed of [needs].flat()) assert.ok(jobs[needed], `${name}, ${job}: ${needed}`);
      assert.ok(uses || limit > 0, `${name}, ${job}`);
    }
});

test('all platforms are tested on processors of their own, with all addons that were built', () => {
  const { jobs } = workflows.find(({ name }) => name === 'release');
  const rows = jobs.check.strategy.matrix.include;
  assert.deepEqual(rows.map(({ platform }) => platform).sort(), Object.keys(platforms).sort());
  const built = [jobs.build, jobs.cuda].flatMap(({ steps }) =>
    steps.flatMap(({ run = '' }) => /node tools\/platforms\.mjs (.*)/.exec(run)?.[1].split(' ') ?? []),
  );
  const byApple = 'backend-metal'; // mac.yml
  assert.deepEqual([...built, byApple].sort(), Object.keys(addons).sort());
  const system = { linux: 'ubuntu', darwin: 'macos', win32: 'windows' };
  for (const { platform, runner } of rows) {
    const [os, cpu] = platform.split('-');
    assert.ok(runner.startsWith(system[os]), `${platform}: ${runner}`);
    const isArm = os === 'darwin' ? !runner.endsWith('-intel') : runner.endsWith('-arm');
    assert.equal(isArm, cpu === 'arm64', `${platform}: ${runner}`);
  }
});

test('artifacts that are downloaded were uploaded', () => {
  const named = (action) =>
    steps.filter(({ uses = '' }) => uses.startsWith(`actions/${action}@`)).map((step) => step.with.name);
  const [uploaded, downloaded] = [named('upload-artifact'), named('download-artifact')];
  for (const name of downloaded) if (name !== undefined) assert.ok(uploaded.includes(name), name);
  assert.ok(uploaded.includes('backend-metal-darwin-arm64'));
});
