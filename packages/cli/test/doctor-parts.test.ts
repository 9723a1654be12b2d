import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { backendFindings } from '../src/doctor/backends.js';
import { cacheFindings } from '../src/doctor/caches.js';
import { cpuFindings, cpuReport } from '../src/doctor/cpu.js';
import { environmentReport } from '../src/doctor/environment.js';
import { gpuFindings, gpuReport } from '../src/doctor/gpus.js';
import { memoryFindings, memoryReport } from '../src/doctor/memory.js';
import { packageFindings, packageTree } from '../src/doctor/packages.js';
import { nodeFindings, systemReport } from '../src/doctor/system.js';

const root = mkdtempSync(join(tmpdir(), 'quern-parts-'));
afterAll(() => rmSync(root, { recursive: true }));

/** A file system with these files. */
function files(name: string, content: Readonly<Record<string, string>>): string {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  for (const [path, text] of Object.entries(content)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

describe('control groups', () => {
  test('version 2: the tightest limit of a group and its parents', () => {
    const v2 = files('v2', {
      'proc/self/cgroup': '0::/a/b\n',
      'proc/meminfo': 'MemTotal: 8000000 kB\nMemAvailable:    5000000 kB\n',
      'sys/fs/cgroup/a/cpu.max': '150000 100000\n',
      'sys/fs/cgroup/a/b/cpu.max': 'max 100000\n',
      'sys/fs/cgroup/a/memory.max': '4000000000\n',
      'sys/fs/cgroup/a/b/memory.max': 'max\n',
      'sys/fs/cgroup/a/b/memory.high': '3000000000\n',
    });
    expect(memoryReport(v2)).toMatchObject({
      availableBytes: 5_120_000_000,
      limitBytes: 3_000_000_000,
      cpuQuota: 1.5,
    });
  });

  test('version 1, in a container that sees only the root of its group', () => {
    const v1 = files('v1', {
      'proc/self/cgroup': '4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '500000000\n',
      'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000\n',
      'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    });
    const report = memoryReport(v1);
    expect(report).toMatchObject({ limitBytes: 500_000_000, cpuQuota: 0.5 });
    expect(memoryFindings(report).notes).toMatchObject([
      { what: expect.stringContaining('0.50 GB'), help: expect.stringContaining('docker run --memory') },
    ]);
  });

  test('no limit: of version 1 a number near 2^63, no quota, or no groups', () => {
    const free = files('free', {
      'proc/self/cgroup': '4:memory:/\n3:cpu:/\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
      'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    });
    for (const folder of [free, files('none', {})]) {
      const report = memoryReport(folder);
      expect([report.limitBytes, report.cpuQuota]).toEqual([undefined, undefined]);
    }
  });
});

describe('processors', () => {
  const old = files('old', { 'proc/cpuinfo': 'processor : 0\nflags\t\t: fpu sse2 sse4_2 avx\n' });
  const today = files('today', { 'proc/cpuinfo': 'flags : fpu avx avx2 fma f16c avx512f\n' });

  test('one without AVX2: what it lacks, and what helps', () => {
    const report = cpuReport(old, 'x64');
    expect(report.features).toEqual(['avx']);
    expect(cpuFindings(report, 'scalar', {}, 'x64').notes).toMatchObject([
      { what: expect.stringContaining('no avx2, fma, f16c'), help: expect.stringContaining('-cpu host') },
    ]);
  });

  test('one of before AVX is not one whose features are unknown', () => {
    const oldest = cpuReport(files('oldest', { 'proc/cpuinfo': 'flags\t\t: fpu sse2 sse4_2\n' }), 'x64');
    expect(oldest.features).toEqual([]);
    expect(cpuFindings(oldest, 'scalar', {}, 'x64').notes).toMatchObject([
      { what: expect.stringMatching(/^this CPU offers no avx2, fma, f16c:/) },
    ]);
    const unknown = cpuReport(files('unknown', {}), 'x64');
    expect(unknown).not.toHaveProperty('features');
    expect(cpuFindings(unknown, 'scalar', {}, 'x64').notes).toMatchObject([
      { what: expect.stringMatching(/^this CPU offers no avx2:/) },
    ]);
  });

  test('no finding where the best set is taken, or where there is no CPU backend', () => {
    const report = cpuReport(today, 'x64');
    expect(report.features).toEqual(['avx', 'avx2', 'fma', 'f16c', 'avx512f']);
    expect(cpuFindings(report, 'avx2', {}, 'x64').notes).toEqual([]);
    expect(cpuFindings(report, undefined, { QUERN_CPU_ISA: 'avx2' }, 'x64').notes).toEqual([]);
  });

  test('scalar code beside AVX2 says so', () => {
    expect(cpuFindings(cpuReport(today, 'x64'), 'scalar', {}, 'x64').notes).toMatchObject([
      { what: 'the backend computes with scalar code although this CPU has AVX2' },
    ]);
  });

  test('Arm', () => {
    const arm = files('arm', { 'proc/cpuinfo': 'Features\t: fp asimd asimddp i8mm\n' });
    expect(cpuReport(arm, 'arm64').features).toEqual(['asimd', 'asimddp', 'i8mm']);
  });
});

test('GPUs of NVIDIA: a card without a driver, a driver without its library, neither backend', () => {
  const card = {
    'sys/bus/pci/devices/0000:01:00.0/vendor': '0x10de\n',
    'sys/bus/pci/devices/0000:01:00.0/class': '0x030200\n',
  };
  const sound = {
    'sys/bus/pci/devices/0000:01:00.1/vendor': '0x10de\n',
    'sys/bus/pci/devices/0000:01:00.1/class': '0x040300\n',
  };
  const version = 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\nGCC version: 12\n';
  const driver = { 'proc/driver/nvidia/version': version };
  const bare = gpuReport(files('bare', { ...card, ...sound }), {});
  expect([bare.nvidiaCards, gpuFindings(bare, []).notes[0]!.what]).toEqual([
    1,
    'an NVIDIA GPU is there, but its driver is not loaded',
  ]);
  const halfway = gpuReport(files('halfway', { ...card, ...driver }), {});
  expect(gpuFindings(halfway, ['@quern/backend-cuda']).notes).toMatchObject([
    { what: expect.stringContaining('driver 550.54.15'), help: expect.stringContaining('--gpus all') },
  ]);
  const whole = gpuReport(files('whole', { ...card, ...driver, 'usr/lib64/libcuda.so.1': '' }), {});
  expect(gpuFindings(whole, ['@quern/backend-cuda']).notes).toEqual([]);
  expect(gpuFindings(whole, []).notes).toMatchObject([{ help: 'npm install @quern/backend-cuda' }]);
  expect(gpuFindings(gpuReport(files('no-gpu', {}), {}), []).notes).toEqual([]);
});

describe('packages', () => {
  const manifest = (name: string, version: string, dependencies = {}) =>
    JSON.stringify({ name, version, dependencies, exports: { './package.json': './package.json' } });

  test('two versions of one package; a dependency that is not there', () => {
    const home = files('packages', {
      'node_modules/quern/package.json': manifest('quern', '0.2.0', {
        '@quern/core': '^0.2.0',
        '@quern/hub': '1',
      }),
      'node_modules/@quern/core/package.json': manifest('@quern/core', '0.2.0'),
      'node_modules/other/package.json': manifest('other', '3.0.0', { '@quern/core': '^0.1.0', left: '1' }),
      'node_modules/other/node_modules/@quern/core/package.json': manifest('@quern/core', '0.1.0'),
    });
    const tree = packageTree([join(home, 'node_modules/quern'), join(home, 'node_modules/other')]);
    expect(tree.packages.map(({ name, version }) => `${name} ${version}`).sort()).toEqual([
      '@quern/core 0.1.0',
      '@quern/core 0.2.0',
      'other 3.0.0',
      'quern 0.2.0',
    ]);
    expect(packageFindings(tree).faults).toEqual([
      {
        what: 'several versions of @quern/core are installed: 0.1.0, 0.2.0',
        help: expect.stringContaining('npm ls @quern/core'),
      },
      { what: 'the package @quern/hub of quern is not installed', help: 'npm install @quern/hub' },
    ]);
  });

  test('one copy that several packages use is no fault', () => {
    const home = files('shared', {
      'node_modules/a/package.json': manifest('a', '1.0.0', { '@quern/core': '*' }),
      'node_modules/b/package.json': manifest('b', '1.0.0', { '@quern/core': '*' }),
      'node_modules/@quern/core/package.json': manifest('@quern/core', '0.2.0'),
    });
    const tree = packageTree([join(home, 'node_modules/a'), join(home, 'node_modules/b')]);
    expect([tree.packages.length, packageFindings(tree).faults]).toEqual([3, []]);
  });
});

describe('backends', () => {
  const cpu = '@quern/backend-cpu';
  const none = { backends: [], binaries: {} };
  const findings = (device: { error: string; [more: string]: unknown }, binary?: object, env = {}) =>
    backendFindings(
      [{ package: cpu, folder: '/f', devices: [{ package: cpu, ...device }], ...binary }],
      none,
      env,
    );

  test.each([
    [
      'its process ends',
      { error: 'loading it ended the process with SIGSEGV', crashed: true },
      /ended the process with SIGSEGV/,
      /^rm -rf node_modules && npm install/,
    ],
    [
      'its module cannot be imported',
      { error: 'no index.js', unloaded: true },
      /no index\.js/,
      /backend-cpu@latest/,
    ],
    [
      'it fails',
      { error: 'the driver is too old\nmore', code: 'DEVICE_FAILED' },
      /: the driver is too old$/,
      /--backend/,
    ],
  ])('%s: the first line, and what helps', (_name, device, what, help) => {
    const { faults, notes } = findings(device as { error: string });
    expect(faults).toEqual([{ what: expect.stringMatching(what), help: expect.stringMatching(help) }]);
    expect(notes).toEqual([]);
  });

  test('a process that ends with the binary of a variable', () => {
    const crash = { error: 'it ended', crashed: true };
    expect(findings(crash, {}, { QUERN_CPU_BINARY: '/x.node' }).faults[0]!.help).toBe(
      'unset QUERN_CPU_BINARY, which names /x.node',
    );
  });

  test('no such device is a note; no backend, and a search that fails, are faults', () => {
    const { faults, notes } = findings({ error: 'no GPU', noDevice: true });
    expect([faults, notes]).toMatchObject([[], [{ what: `${cpu}: no GPU` }]]);
    expect(backendFindings([], none, {}).faults).toMatchObject([{ help: 'npm install @quern/backend-cpu' }]);
    expect(backendFindings([], { ...none, error: 'bad' }, {}).faults[0]!.what).toMatch(/failed: bad$/);
  });

  test('no binary: the reason and the advice of the loader; a damaged better one is a note', () => {
    const reason = `${cpu} has no binary for linux-x64-gnu: it is not installed`;
    const binary = { reason, advice: 'Install it', tried: [] };
    expect(findings({ error: 'x' }, { binary }).faults).toEqual([{ what: reason, help: 'Install it' }]);
    const tried = [
      { name: '/build/x.node', message: 'is damaged: it has 5 of 9 bytes', advice: 'Build it again' },
      { name: '/y.node', message: 'does not exist', advice: 'Build it' },
    ];
    const taken = { chosen: { name: 'prebuilt' }, reason: '', tried };
    const report = { package: cpu, folder: '/f', binary: taken, devices: [] };
    expect(backendFindings([report], none, {}).notes).toEqual([
      {
        what: `${cpu}: /build/x.node is damaged: it has 5 of 9 bytes; it takes prebuilt`,
        help: 'Build it again',
      },
    ]);
  });
});

test('a cache with little space, or downloads that have not ended', () => {
  const state = { path: '/c', exists: true, bytes: 9, incompleteBytes: 5e6, freeBytes: 1e8 };
  const found = cacheFindings({ models: state, kernels: { path: '/k', bytes: 0 } });
  expect(found).toMatchObject({
    faults: [],
    notes: [
      {
        what: 'the disk of /c has 100.0 MB free: too little for most models',
        help: expect.stringContaining('quern rm'),
      },
      { what: 'downloads of 5.0 MB have not ended', help: expect.stringContaining('quern pull') },
    ],
  });
});

test('variables: those that matter, without secrets', () => {
  expect(
    environmentReport({
      PATH: '/bin',
      HF_TOKEN_PATH: '/t',
      QUERN_API_KEY: 'sk',
      https_proxy: 'http://u:p@h',
      HF_ENDPOINT: 'https://h/?a=b',
      QUERN_CPU_ISA: '',
    }),
  ).toEqual({
    HF_ENDPOINT: 'https://h/?(hidden)',
    HF_TOKEN_PATH: '/t',
    QUERN_API_KEY: '(hidden)',
    https_proxy: 'http://(hidden)@h',
  });
});

test('an old Node; the name of a system', () => {
  expect(nodeFindings('20.16.0', '>=20.17').faults).toMatchObject([
    { what: 'Node 20.16.0 is older than 20.17' },
  ]);
  for (const node of ['20.17.0', '22.0.0']) expect(nodeFindings(node, '>=20.17').faults).toEqual([]);
  const { os } = systemReport(files('os', { 'etc/os-release': 'NAME=x\nPRETTY_NAME="Some Linux 3"\n' }));
  expect(os).toMatch(/^Some Linux 3, /);
});
