// Why a binary does not load, and what helps: planted packages and files.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cutOff, faultOfFile } from '../src/binary/fault.js';
import {
  type AddonPlaces,
  addonPlaces,
  describeBinary,
  inspectBinary,
  loadAddon,
  platform,
} from '../src/index.js';
import { elfFile } from './elf-file.js';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'quern-binary-')));
const name = '@quern/backend-x';
const machines: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };
const machine = machines[process.arch]!;
const glibc = { machine: 62, libraries: ['libc.so.6'], versions: ['GLIBC_2.17', 'GLIBC_2.28', 'GLIBC_2.3'] };
const debian12 = { os: 'linux', arch: 'x64', libc: 'gnu', glibc: '2.36' } as const;
const build = 'npx quern-backend-x build';

afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  delete process.env.QUERN_X_BINARY;
});

function write(path: string, content: string | Buffer): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

let count = 0;

/** An application with the package, and platform packages: a file's content, or null for a package without its file. */
function application(packages: Readonly<Record<string, string | Buffer | null>>, lockfile?: string) {
  const app = join(folder, `app${count++}`);
  const module = write(join(app, 'node_modules', name, 'dist/index.cjs'), '');
  for (const [of, content] of Object.entries(packages)) {
    const at = join(app, 'node_modules', `${name}-${of}`);
    write(join(at, 'package.json'), '{"main": "backend_x.node"}');
    if (content !== null) write(join(at, 'backend_x.node'), content);
  }
  if (lockfile !== undefined) write(join(app, 'package-lock.json'), lockfile);
  return module;
}

const none = () => {
  throw new Error('not used here');
};

/** The places of a backend with packages for these platforms. */
function placesOf(from: string, platforms = [platform(), 'sunos-x64']): AddonPlaces<unknown> {
  const prebuilt = Object.fromEntries(platforms.map((each) => [each, none]));
  const { candidates, ...places } = addonPlaces({ backend: 'x', from, prebuilt, needs: 'CMake' });
  return { ...places, candidates: process.env.QUERN_X_BINARY ? candidates : [`${name}-${platform()}`] };
}

const failure = (from: string, platforms?: string[]) => describeBinary(placesOf(from, platforms));

test('optional dependencies were left out', () => {
  const { chosen, reason, advice } = failure(application({}));
  expect(chosen).toBeUndefined();
  expect(reason).toBe(
    `${name} has no binary for ${platform()}: ${name}-${platform()} is not installed: optional dependencies were left out (--omit=optional, --no-optional)`,
  );
  expect(advice).toBe('Install it: npm install --include=optional');
});

test('a lockfile of another platform lists the package alone', () => {
  const lists = (...names: string[]) =>
    JSON.stringify({ packages: Object.fromEntries(names.map((each) => [`node_modules/${each}`, {}])) });
  const foreign = failure(application({}, lists(name, `${name}-sunos-x64`)));
  expect(foreign.reason).toContain('package-lock.json does not list it, and was written on another platform');
  expect(foreign.advice).toBe(
    'Delete node_modules and package-lock.json, and install on this system: npm install',
  );
  const own = failure(application({}, lists(name, `${name}-${platform()}`)));
  expect(own.tried[0]!.kind).toBe('not-installed');
});

test('node_modules of another system', () => {
  const { reason, advice, tried } = failure(application({ 'sunos-x64': '' }));
  expect(tried[0]!.kind).toBe('platform');
  expect(reason).toContain(`is not installed; ${name}-sunos-x64 is, for another system`);
  expect(advice).toBe('Delete node_modules, and install on this system: npm install');
});

test('node_modules of a system with the other C library', () => {
  const other = platform().endsWith('-gnu')
    ? platform().replace('gnu', 'musl')
    : `${process.platform}-${process.arch}-gnu`;
  const { tried } = failure(application({ [other]: '' }), [platform(), other]);
  expect(tried[0]).toMatchObject({ kind: 'libc', advice: expect.stringContaining('on this system') });
});

test('no package is made for the platform', () => {
  const { reason, advice, tried } = failure(application({}), ['sunos-x64', 'sunos-arm64']);
  expect(tried[0]!.kind).toBe('no-package');
  expect(reason).toContain('does not exist; there are packages for sunos-x64, sunos-arm64');
  expect(advice).toBe(`To build it here (needs CMake): ${build}`);
});

test.each([
  ['no file', null, 'is damaged: its binary is missing'],
  ['an empty file', '', 'is damaged: its 0 bytes are no native addon'],
  ['a pointer in place of a file', 'version https://git-lfs', 'is damaged: its 23 bytes are no native addon'],
  ['half a file', elfFile({ machine, libraries: ['libc.so.6'] }).subarray(0, 150), /is damaged: .* bytes/],
])('a damaged package: %s', (_, content, message) => {
  const { tried } = failure(application({ [platform()]: content }));
  expect(tried[0]).toMatchObject({
    kind: 'damaged',
    message: expect.stringMatching(message),
    advice: 'Delete node_modules, and install again: npm install',
  });
});

test('a forced binary that is not there, and one that is damaged', () => {
  process.env.QUERN_X_BINARY = '/nowhere/x.node';
  const absent = failure(application({}));
  expect(absent.reason).toContain('/nowhere/x.node does not exist');
  process.env.QUERN_X_BINARY = write(join(folder, 'x.node'), 'x');
  const { tried, advice } = failure(application({}));
  expect(tried).toHaveLength(1);
  expect(tried[0]!.kind).toBe('damaged');
  expect(advice).toBe(`Set QUERN_X_BINARY to a binary for ${platform()}, or unset it`);
});

test('a damaged local build explains the failure, not the missing package after it', () => {
  const from = application({});
  const file = write(join(dirname(from), '../build/Release/backend_x.node'), 'x');
  const places = addonPlaces({ backend: 'x', from, prebuilt: { [platform()]: none }, needs: 'CMake' });
  const { reason, advice, tried } = describeBinary(places);
  expect(reason).toContain(`${file} is damaged`);
  expect(advice).toContain(`Build it again, or delete it. To build it here (needs CMake): ${build}`);
  expect(tried.map(({ kind }) => kind)).toEqual(['damaged', 'not-installed']);
});

test('the binary that loads, why, and the better ones that do not', () => {
  const from = application({});
  const file = write(join(dirname(from), 'addon.cjs'), 'module.exports = 7;');
  const candidates = ['/nowhere/x.node', { name: file, why: 'it was built here' }];
  expect(describeBinary({ packageName: name, from, candidates })).toEqual({
    packageName: name,
    platform: platform(),
    chosen: { name: file, file },
    reason: `${name} takes ${file}: it was built here`,
    tried: [{ name: '/nowhere/x.node', kind: 'absent', message: 'does not exist' }],
  });
  expect(loadAddon({ packageName: name, from, candidates })).toBe(7);
});

test('the error: the reason, the remedy, all candidates', () => {
  const load = () => loadAddon(placesOf(application({})));
  expect(load).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }));
  expect(load).toThrow(/left out .*\. Install it: npm install --include=optional\nTried on Node v/);
  expect(load).toThrow(build);
});

test('headers: processor, libraries, C library, the highest version of glibc', () => {
  expect(inspectBinary(write(join(folder, 'glibc.node'), elfFile(glibc)))).toMatchObject({
    format: 'ELF',
    os: 'linux',
    arch: 'x64',
    libc: 'gnu',
    least: '2.28',
    libraries: ['libc.so.6'],
  });
  const musl = elfFile({ machine: 183, libraries: ['libc.musl-aarch64.so.1'] });
  expect(inspectBinary(write(join(folder, 'musl.node'), musl))).toMatchObject({
    arch: 'arm64',
    libc: 'musl',
  });
  expect(inspectBinary(process.execPath)).toMatchObject({ os: process.platform, arch: process.arch });
});

test.each([
  [
    'another processor',
    { ...glibc, machine: 183 },
    'platform',
    'is for Linux on arm64, and this is linux-x64-gnu',
  ],
  [
    'the other C library',
    { machine: 62, libraries: ['libc.so'] },
    'libc',
    'is for Linux with musl, and this system has glibc',
  ],
  [
    'a newer glibc',
    { ...glibc, versions: ['GLIBC_2.100'] },
    'old-system',
    'needs glibc 2.100, and this system has 2.36',
  ],
  ['nothing against it', glibc, 'other', 'as the system said'],
])('a file for another system: %s', (_, content, kind, message) => {
  const file = write(join(folder, 'other.node'), elfFile(content));
  expect(faultOfFile(file, debian12, 'as the system said')).toEqual({ kind, message });
});

test('every length of a cut file is damage', () => {
  const whole = elfFile(glibc);
  const file = write(join(folder, 'cut.node'), whole);
  for (let bytes = whole.length - 1; bytes >= 0; bytes--) {
    truncateSync(file, bytes);
    expect(faultOfFile(file, debian12, '').kind).toBe('damaged');
  }
});

test('headers with wrong bytes are read to an end', () => {
  const whole = elfFile(glibc);
  const file = join(folder, 'changed.node');
  for (let at = 0; at < whole.length; at++) {
    const changed = Buffer.from(whole);
    changed[at] = 255;
    write(file, changed);
    expect(inspectBinary(file).bytes).toBe(whole.length);
  }
});

test('a cut file is not loaded: it would end the process', () => {
  const whole = elfFile({ machine, libraries: ['libc.so.6'] });
  const file = write(join(folder, 'cut-off.node'), whole);
  const linux = { os: 'linux', arch: process.arch } as const;
  expect(cutOff(file, linux)).toBeUndefined();
  for (const length of [0, 3, 64, whole.length - 1]) {
    truncateSync(write(file, whole), length);
    expect(cutOff(file, linux)?.kind).toBe('damaged');
    expect(cutOff(file, { ...linux, os: 'darwin' })).toBeUndefined();
  }
  expect(cutOff(join(folder, 'no-such.node'), linux)).toBeUndefined();
});
