import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { DoctorReport } from '../src/doctor/report.js';
import { quern, start } from './cli.js';
import { installCommand } from './installed.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-doctor-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);

const cpuFolder = dirname(createRequire(import.meta.url).resolve('@quern/backend-cpu/package.json'));
const built = join(cpuFolder, 'build/Release/backend_cpu.node');

/** The report where these variables are set. */
async function examine(
  env: Record<string, string> = {},
): Promise<{ code: number | null; report: DoctorReport }> {
  const quiet = { HF_HUB_CACHE: at('hub'), HF_TOKEN: '', QUERN_CPU_BINARY: '', QUERN_CPU_ISA: '' };
  const { code, stdout } = await quern(['doctor', '--json'], '', { env: { ...quiet, ...env } });
  return { code, report: JSON.parse(stdout) as DoctorReport };
}

const deviceOf = (report: DoctorReport, name = '@quern/backend-cpu') =>
  report.backends.find((each) => each.package === name)!.devices[0]!;

test('a whole installation: no fault, and the binary that is loaded', async () => {
  const { code, report } = await examine();
  expect([code, report.faults]).toEqual([0, []]);
  expect(report.backends.find((each) => each.package === '@quern/backend-cpu')!.binary).toMatchObject({
    chosen: { file: expect.stringContaining('backend_cpu.node') },
    reason: expect.stringContaining('it was built here'),
  });
  expect(deviceOf(report)).toMatchObject({ backend: 'cpu', kind: 'cpu', threads: expect.any(Number) });
  expect(report.packages.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['quern', '@quern/core', '@quern/hub', '@quern/runtime']),
  );
  expect(report.system).toMatchObject({ node: process.versions.node, platform: expect.any(String) });
});

test('as text: the sections, and a sentence at the end', async () => {
  const { code, stdout, stderr } = await quern(['doctor'], '', { env: { HF_HUB_CACHE: at('hub') } });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^quern \d.*, Node \d/);
  for (const title of ['system', 'cpu', 'memory', 'packages', 'backends', 'GPU drivers', 'caches'])
    expect(stdout).toMatch(new RegExp(`^${title}\n  `, 'm'));
  expect(stdout).toMatch(/@quern\/backend-cpu takes \S*backend_cpu\.node: it was built here\n/);
  expect(stdout).toMatch(/no faults found\n$/);
});

test('without the binary: the command that brings it', () => {
  const { folder: home, script } = installCommand([], ['backend-cpu']);
  const env = { ...process.env, HF_HUB_CACHE: at('hub'), QUERN_CPU_BINARY: '' };
  const { status, stdout } = spawnSync(process.execPath, [script, 'doctor'], {
    encoding: 'utf8',
    cwd: home,
    env,
  });
  expect(status).toBe(1);
  expect(stdout).toMatch(/faults\n {2}@quern\/backend-cpu has no binary for \S+: .* is not installed/);
  expect(stdout).toMatch(/ {4}→ Install it: npm install --include=optional\n/);
  rmSync(home, { recursive: true });
});

/** Where `make` has put a binary: the report on it alone. */
async function withBinary(name: string, make: (path: string) => void) {
  make(at(name));
  const { code, report } = await examine({ QUERN_CPU_BINARY: at(name) });
  expect(code).toBe(1);
  expect(report.faults).toHaveLength(1);
  expect(report.faults[0]!.help).toMatch(/unset (it|QUERN_CPU_BINARY)/);
  expect(deviceOf(report, '@quern/backend-reference')).toMatchObject({ backend: 'reference' });
  return report.faults[0]!.what;
}

test.each([
  ['that is not there', () => {}, /that-is-not-there\.node does not exist/],
  [
    'of 20 bytes',
    (path: string) => writeFileSync(path, 'not a native binary.'),
    /its 20 bytes are no native addon/,
  ],
  [
    'that is a text',
    (path: string) => writeFileSync(path, 'a text\n'.repeat(99)),
    /its 693 bytes are no native/,
  ],
  [
    'cut in half',
    (path: string) => writeFileSync(path, readFileSync(built).subarray(0, 1_000_000)),
    /is damaged: its 1000000 bytes are no native addon/,
  ],
  [
    'with other bytes in the middle',
    (path: string) => writeFileSync(path, Buffer.from(readFileSync(built)).fill(0xff, 4096, 60_000)),
    /@quern\/backend-cpu/,
  ],
])('a binary %s', async (name, make, says) => {
  expect(await withBinary(`${name.replace(/\W/g, '-')}.node`, make)).toMatch(says);
});

const compiler = process.env.CXX || 'c++';
const hasCompiler = process.platform === 'linux' && spawnSync(compiler, ['--version']).status === 0;

(hasCompiler ? test : test.skip)('a binary for systems with musl', async () => {
  const compile = (...args: string[]) =>
    expect(spawnSync(compiler, ['-shared', '-nostdlib', '-fPIC', ...args], { cwd: folder }).status).toBe(0);
  writeFileSync(at('empty.cc'), 'extern "C" int quern_none() { return 0; }\n');
  compile('empty.cc', '-o', 'libmusl.so', '-Wl,-soname,libc.musl-x86_64.so.1');
  compile('empty.cc', '-o', 'musl.node', '-Wl,--no-as-needed', '-L.', '-lmusl');
  const what = await withBinary('musl.node', () => {});
  expect(what).toMatch(/is for Linux with musl, and this system has glibc/);
});

test('a copy of the binary is taken where the variable names it', async () => {
  copyFileSync(built, at('copy.node'));
  const { code, report } = await examine({ QUERN_CPU_BINARY: at('copy.node') });
  expect([code, report.faults]).toEqual([0, []]);
  expect(report.backends.find((each) => each.package === '@quern/backend-cpu')!.binary).toMatchObject({
    chosen: { name: at('copy.node') },
    reason: expect.stringContaining('QUERN_CPU_BINARY names it'),
  });
});

test('a binary that is cut off is refused before it ends the process', async () => {
  writeFileSync(at('cut.node'), readFileSync(built).subarray(0, 1_000_000));
  const env = { QUERN_CPU_BINARY: at('cut.node') };
  const { code, stderr } = await start(['run', 'demo', '-p', 'x', '--backend', 'cpu'], '', { env }).finished;
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/cut\.node is damaged: its 1000000 bytes are no native addon/),
  ]);
});

test('an instruction set by QUERN_CPU_ISA: taken with a note, or a fault', async () => {
  const scalar = await examine({ QUERN_CPU_ISA: 'scalar' });
  expect([scalar.code, deviceOf(scalar.report)]).toMatchObject([0, { isa: 'scalar' }]);
  expect(scalar.report.notes).toContainEqual({
    what: expect.stringContaining('QUERN_CPU_ISA chooses the instruction set scalar'),
    help: 'unset QUERN_CPU_ISA',
  });
  const none = await examine({ QUERN_CPU_ISA: 'mmx' });
  expect([none.code, none.report.faults]).toMatchObject([
    1,
    [{ what: expect.stringContaining("'mmx'"), help: 'unset QUERN_CPU_ISA' }],
  ]);
});

const linux = process.platform === 'linux' ? test : test.skip;

linux('a cache where nothing can be written', async () => {
  const { code, report } = await examine({ HF_HUB_CACHE: '/proc/quern/hub' }); // there, not even root can
  expect(code).toBe(1);
  expect(report.faults).toEqual([
    {
      what: expect.stringMatching(/\/proc\/quern\/hub, which does not exist yet, cannot be written \(E/),
      help: expect.stringContaining('HF_HUB_CACHE=FOLDER'),
    },
  ]);
});

test('secrets of the environment are hidden in every text', async () => {
  const { report } = await examine({
    HF_TOKEN: 'hf_neverShown',
    HTTPS_PROXY: 'http://me:neverShown@proxy:80',
    HF_ENDPOINT: 'ftp://me:neverShown@mirror/?token=neverShown',
    QUERN_CPU_BINARY: at('hf_neverShown.node'),
  });
  expect(JSON.stringify(report)).not.toContain('neverShown');
  expect(report.environment).toMatchObject({ HF_TOKEN: '(hidden)', HTTPS_PROXY: 'http://(hidden)@proxy:80' });
  expect(report.faults).toContainEqual(
    expect.objectContaining({ what: expect.stringContaining('the endpoint (HF_ENDPOINT) is') }),
  );
});

test.each(['lacks an export', 'is not there'])('a core that %s: the report all the same', (name) => {
  const { folder: home, script } = installCommand(['core']);
  if (name === 'lacks an export') {
    const core = join(home, 'node_modules/@quern/core');
    mkdirSync(core);
    const manifest = { name: '@quern/core', version: '0.0.1', type: 'module', exports: './index.js' };
    writeFileSync(join(core, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(core, 'index.js'), 'export const contractVersion = 2;');
  }
  const env = { ...process.env, HF_HUB_CACHE: at('hub') };
  const { status, stdout } = spawnSync(process.execPath, [script, 'doctor', '--json'], {
    encoding: 'utf8',
    env,
  });
  const report = JSON.parse(stdout) as DoctorReport;
  expect(status).toBe(1);
  expect(report.faults).toContainEqual({
    what: expect.stringMatching(/^the installed packages of Quern do not fit together: /),
    help: expect.stringContaining('npm install quern@latest @quern/core@latest'),
  });
  rmSync(home, { recursive: true });
});
