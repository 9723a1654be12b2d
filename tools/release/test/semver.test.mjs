// The comparison of API reports: planted reports, and a planted repository.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { faultsOf, levelBetween, neededLevel } from '../semver.mjs';
import { differences } from '../surface.mjs';

const report = (code) => `## API Report File for "@quern/core"\n\n\`\`\`ts\n\n${code}\n\n\`\`\`\n`;

/** [what, before, after, the differences as `name what`, breaking ones with !] */
const cases = [
  ['nothing', 'export function f(x: number): void;', 'export function f(x: number): void;', ''],
  ['a comment', '// @public\nexport type A = 1;', '// @beta (undocumented)\nexport type A = 1;', ''],
  ['a removed export', 'export const a: 1;\nexport const b: 2;', 'export const a: 1;', '!b removed'],
  ['an export that is hidden', 'export interface A {\n}', 'interface A {\n}', '!A removed'],
  ['an added export', 'export const a: 1;', 'export const a: 1;\nexport const b: 2;', 'b added'],
  ['another result', 'export function f(): number;', 'export function f(): string;', '!f changed'],
  [
    'a required parameter',
    'export function f(a: 1): void;',
    'export function f(a: 1, b: 2): void;',
    '!f changed',
  ],
  ['a parameter with another name', 'export function f(a: 1): void;', 'export function f(b: 1): void;', ''],
  [
    'a callback with another name inside',
    'export type A = (a: 1, ...b: 2[]) => void;',
    'export type A = (c: 1, ...d: 2[]) => void;',
    '',
  ],
  [
    'parameters in another order',
    'export function f(a: 1, b: 2): void;',
    'export function f(b: 2, a: 1): void;',
    '!f changed',
  ],
  [
    'an optional parameter',
    'export function f(a: 1): void;',
    'export function f(a: 1, b?: 2): void;',
    'f extended',
  ],
  ['a rest parameter', 'export function f(): void;', 'export function f(...a: 1[]): void;', 'f extended'],
  ['a parameter fewer', 'export function f(a?: 1): void;', 'export function f(): void;', '!f changed'],
  [
    'an overload more',
    'export function f(a: 1): void;',
    'export function f(a: 1): void;\n\nexport function f(b: 2): void;',
    'f extended',
  ],
  [
    'an optional member',
    'export interface A {\n    a: 1;\n}',
    'export interface A {\n    // (undocumented)\n    a: 1;\n    b?: 2;\n}',
    'A extended',
  ],
  [
    'a required member',
    'export interface A {\n    a: 1;\n}',
    'export interface A {\n    a: 1;\n    b: 2;\n}',
    '!A changed',
  ],
  [
    'a member that becomes required',
    'export interface A {\n    a?: 1;\n}',
    'export interface A {\n    a: 1;\n}',
    '!A changed',
  ],
  ['a member fewer', 'export interface A {\n    a?: 1;\n}', 'export interface A {\n}', '!A changed'],
  [
    'members in another order',
    'export interface A {\n    a: 1;\n    b: 2;\n}',
    'export interface A {\n    b: 2;\n    a: 1;\n}',
    'A extended',
  ],
  [
    'a method with an optional parameter',
    'export interface A {\n    f(a: 1): void;\n}',
    'export interface A {\n    f(a: 1, b?: 2): void;\n}',
    'A extended',
  ],
  ['another base', 'export interface A extends B {\n}', 'export interface A extends C {\n}', '!A changed'],
  [
    'another bound of a type parameter',
    'export interface A<T> {\n}',
    'export interface A<T extends string> {\n}',
    '!A changed',
  ],
  [
    'a method of a class',
    'export class A {\n    f(): void;\n}',
    'export class A {\n    f(): void;\n    g(): void;\n}',
    'A extended',
  ],
  [
    'an abstract method',
    'export abstract class A {\n}',
    'export abstract class A {\n    abstract g(): void;\n}',
    '!A changed',
  ],
  [
    'an object with a further member',
    'export const a: {\n    b: 1;\n};',
    'export const a: {\n    b: 1;\n    c: 2;\n};',
    'a extended',
  ],
  [
    'an object with a member fewer',
    'export const a: {\n    b: 1;\n    c: 2;\n};',
    'export const a: {\n    b: 1;\n};',
    '!a changed',
  ],
  ['another union', "export type A = 'a';", "export type A = 'a' | 'b';", '!A changed'],
  [
    'a type literal with an optional member',
    'export type A = {\n    a: 1;\n};',
    'export type A = {\n    a: 1;\n    b?: 2;\n};',
    'A extended',
  ],
  ['an interface that becomes a class', 'export interface A {\n}', 'export class A {\n}', '!A changed'],
  [
    'a type that exports use',
    'interface A {\n    a: 1;\n}',
    'interface A {\n    a: 2;\n}',
    '!A changed inner',
  ],
  ['a hidden type more or fewer', 'type A = 1;', 'type B = 1;', ''],
  [
    'a name of another package',
    "import { A } from '@quern/core';\n\nexport { A }",
    "import { A } from '@quern/quant';\n\nexport { A }",
    '!A changed',
  ],
  [
    'an own name in place of an imported one',
    "import { A } from '@quern/core';\n\nexport { A }",
    'export const A: 1;',
    '!A changed',
  ],
  ['a report that is gone', 'export const a: 1;', undefined, '!a removed'],
];

for (const [what, before, after, expected] of cases)
  test(`differences: ${what}`, () => {
    const found = differences(report(before), after === undefined ? '' : report(after));
    const words = found.map(
      ({ name, what, breaking, inner }) => `${breaking ? '!' : ''}${name} ${what}${inner ? ' inner' : ''}`,
    );
    assert.equal(words.join(', '), expected);
  });

test('levels of versions', () => {
  const between = [
    ['0.1.0', '0.1.0'],
    ['0.1.0', '0.1.1'],
    ['0.1.9', '0.2.0'],
    ['0.9.0', '1.0.0'],
    ['1.0.0', '1.0.1-next.0'],
  ];
  assert.deepEqual(
    between.map(([from, to]) => levelBetween(from, to)),
    ['none', 'patch', 'minor', 'major', 'patch'],
  );
  const needed = ['0.1.0', '1.0.0'].flatMap((version) =>
    [true, false].map((breaking) => neededLevel(version, { breaking })),
  );
  assert.deepEqual(needed, ['minor', 'patch', 'major', 'minor']);
});

test('a sentence names the package, the export and the changeset', () => {
  const compared = { name: '@quern/core', entry: 'testing', from: '1.2.0', to: '1.2.1' };
  const found = differences(
    report('export const a: 1;\n\ninterface B {\n}'),
    report('interface B {\n    b: 1;\n}'),
  );
  assert.deepEqual(faultsOf({ ...compared, differences: found }), [
    '@quern/core: the type "B", which exports use, of the entry point "testing" was changed since 1.2.0, which needs a major version; 1.2.1 is planned. Run npx changeset, choose @quern/core and major.',
    '@quern/core: the export "a" of the entry point "testing" was removed since 1.2.0, which needs a major version; 1.2.1 is planned. Run npx changeset, choose @quern/core and major.',
  ]);
  assert.deepEqual(faultsOf({ ...compared, to: '2.0.0', differences: found }), []);
});

const program = fileURLToPath(new URL('../../check-semver.mjs', import.meta.url));

/** A repository with one package; `write` takes paths and texts. */
function plantedRepository() {
  const folder = mkdtempSync(join(tmpdir(), 'quern-semver-'));
  const write = (files) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
  };
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: folder,
      stdio: 'pipe',
    });
  write({
    'package.json': '{"name": "planted", "private": true, "packageManager": "pnpm@12.21.0"}',
    'pnpm-workspace.yaml': 'packages:\n  - "packages/*"\n',
    'pnpm-lock.yaml': '',
    '.changeset/config.json': '{"baseBranch": "main"}',
    'packages/a/package.json': '{"name": "a", "version": "0.1.0"}',
    'packages/a/api/index.api.md': report('export const one: 1;'),
  });
  git('init', '-q', '-b', 'main');
  const commit = () => {
    git('add', '-A');
    git('commit', '-q', '-m', 'all');
  };
  commit();
  const check = (...args) =>
    spawnSync(process.execPath, [program, '--root', folder, ...args], { encoding: 'utf8' });
  return { write, git, commit, check, remove: () => rmSync(folder, { recursive: true }) };
}

/** A test of a planted repository, which is removed after it. */
const plantedTest = (name, act) =>
  test(name, () => {
    const { remove, ...repository } = plantedRepository();
    try {
      act(repository);
    } finally {
      remove();
    }
  });

plantedTest(
  'a planted repository, from its first commit to its second release',
  ({ write, git, commit, check }) => {
    assert.match(check().stdout, /no package has a release tag yet/);
    git('tag', 'a@0.1.0');
    assert.match(check().stdout, /1 API reports compared, 0 faults/);
    write({ 'packages/a/api/index.api.md': report('export const two: 2;') });
    const refused = check();
    assert.equal(refused.status, 1);
    assert.match(
      refused.stderr,
      /a: the export "one" was removed since 0\.1\.0, which needs a minor version; no new version is planned/,
    );
    assert.match(refused.stderr, /a: the export "two" was added since 0\.1\.0, which needs a patch version/);
    write({ '.changeset/change.md': '---\n"a": patch\n---\n\nTwo.\n' });
    assert.doesNotMatch(check().stderr, /"two"/);
    assert.match(
      check().stderr,
      /"one" was removed .*; 0\.1\.1 is planned\. Run npx changeset, choose a and minor/,
    );
    write({ '.changeset/change.md': '---\n"a": minor\n---\n\nTwo.\n' });
    assert.equal(check().status, 0);
    commit();
    git('checkout', '-q', '-b', 'work');
    write({ 'packages/a/api/index.api.md': report('export const three: 3;') });
    assert.match(check('--base', 'main').stdout, /1 API reports compared, 0 faults/);
    write({ '.changeset/change.md': '---\n"a": patch\n---\n\nThree.\n' });
    assert.match(check('--base', 'main').stderr, /"two" was removed/);
  },
);

plantedTest('a tag of a prerelease is not the last release', ({ write, git, commit, check }) => {
  git('tag', 'a@0.1.0');
  write({ 'packages/a/api/index.api.md': report('export const one: 1;\nexport const two: 2;') });
  commit();
  git('tag', 'a@0.2.0-next.0');
  assert.match(check().stderr, /"two" was added since 0\.1\.0/);
});
