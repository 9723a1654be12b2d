// Platform packages: their folders, the optional dependencies and the loaders name the same platforms.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BinaryFacts } from '../src/index.js';

const packages = fileURLToPath(new URL('../..', import.meta.url));
const loaders = {
  'backend-cpu': 'src/load.ts',
  'backend-cuda': 'src/load.ts',
  'backend-metal': 'src/load.ts',
  quant: 'src/native.ts',
};
const faults: { faultOfFacts(facts: object, platform: string): string | undefined } = await import(
  join(packages, '../tools/platforms/faults.mjs')
);
const read = (...path: string[]) => readFileSync(join(packages, ...path), 'utf8');
const manifest = (...path: string[]) => JSON.parse(read(...path, 'package.json'));

describe.each(Object.entries(loaders))('%s', (name, loader) => {
  const folders = readdirSync(join(packages, name, 'npm'));

  test('each folder is an optional dependency, and each has a folder', () => {
    const { optionalDependencies } = manifest(name);
    expect(Object.keys(optionalDependencies).toSorted()).toEqual(
      folders.map((platform) => `@quern/${name}-${platform}`).toSorted(),
    );
  });

  test('the loader names each package in full, for tools that trace files', () => {
    const named = [...read(name, loader).matchAll(/'([\w-]+)': \(\) => fromHere\('(.*)'\)/g)];
    expect(named.map(([, platform]) => platform).toSorted()).toEqual(folders.toSorted());
    for (const [, platform, of] of named) expect(of).toBe(`@quern/${name}-${platform}`);
  });

  test.each(folders)('%s: installed on this platform alone', (platform) => {
    const { version, license } = manifest(name);
    const [os, cpu, libc] = platform.split('-');
    const found = manifest(name, 'npm', platform);
    expect(found).toMatchObject({
      name: `@quern/${name}-${platform}`,
      version,
      license,
      os: [os],
      cpu: [cpu],
    });
    expect(found.libc).toEqual(libc && [libc === 'gnu' ? 'glibc' : libc]);
    expect(found.files).toEqual([found.main]);
  });
});

describe('what is not published', () => {
  const facts: BinaryFacts = {
    format: 'ELF',
    os: 'linux',
    arch: 'x64',
    libc: 'gnu',
    libraries: ['libc.so.6'],
    least: '2.28',
    bytes: 100,
    describedBytes: 100,
  };
  test.each([
    ['nothing', {}, undefined],
    ['cut off', { bytes: 99 }, 'it has 99 of 100 bytes'],
    ['no addon', { format: undefined }, 'its 100 bytes are no addon'],
    ['another processor', { arch: 'arm64' }, 'it is for linux arm64 gnu, not for linux x64 gnu'],
    ['the other C library', { libc: 'musl' }, 'it is for linux x64 musl, not for linux x64 gnu'],
    ['a newer glibc', { least: '2.34' }, 'it needs glibc 2.34, newer than 2.28'],
    [
      'a library of C++',
      { libraries: ['libstdc++.so.6'] },
      'it needs libstdc++.so.6, which is not on every system',
    ],
  ] as const)('%s', (_, changed, fault) => {
    expect(faults.faultOfFacts({ ...facts, ...changed }, 'linux-x64-gnu')).toBe(fault);
  });
});
