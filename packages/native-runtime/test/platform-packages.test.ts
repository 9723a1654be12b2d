// Platform packages: their folders, the optional dependencies and the loaders name the same platforms.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../..', import.meta.url));
const loaders = {
  'backend-cpu': 'src/load.ts',
  'backend-cuda': 'src/load.ts',
  'backend-metal': 'src/load.ts',
  quant: 'src/native.ts',
};
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
