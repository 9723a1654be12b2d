// Rates of the emulated device: estimates, measurements, and those that are kept on disk.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { normalised } from '../../gpu/test/failure-tests.js';
import { withSettings } from '../../gpu/test/settings.js';
import { createBackend } from '../src/index.js';
import { run } from './script.js';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'quern-rates-'));
});
afterEach(() => rmSync(home, { recursive: true }));

type Env = Readonly<Record<string, string>>;

const cached = (): Env => ({ XDG_CACHE_HOME: home, QUERN_EMULATED_UUID: '7' });
const folder = () => join(home, 'quern', 'rates');
const files = () => (existsSync(folder()) ? readdirSync(folder()) : []);
const onlyFile = () => {
  expect(files()).toHaveLength(1);
  return join(folder(), files()[0]!);
};

/** The profile of a backend in a process of its own. */
function profileOf(env: Env, options = {}) {
  const script = `create(${JSON.stringify(options)}).profile().then((profile) => console.log(JSON.stringify(profile)));`;
  return JSON.parse(run(script, env));
}

/** Bandwidth of a process that measures, by profile and by ceilings. */
function bandwidths(env: Env, options = {}): [profile: number, ceilings: number] {
  const script = `
    const own = create({ rates: 'measure', ...${JSON.stringify(options)} });
    own.profile().then(async ({ readBandwidth }) =>
      console.log(JSON.stringify([readBandwidth, (await own.ceilings()).readBandwidth])));`;
  return JSON.parse(run(script, env));
}

const mark = 12345;
/** Measures, and puts a bandwidth of 12345 into the file. */
function plant(): string {
  bandwidths(cached());
  const path = onlyFile();
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace(/^bandwidth .*$/m, `bandwidth ${mark}`));
  return path;
}

/** 1 processor of 1.98 GHz, 5120 bits at 2.619 GHz (cuda-driver.cc). */
const clock = 1.98e9;

test.each([
  ['90', 4096],
  ['80', 2048],
  ['89', 512],
])('a backend runs nothing when it is made: estimates of sm_%s', (compute, operations) => {
  const launches = join(home, 'launches');
  const profile = profileOf({ QUERN_EMULATED_COMPUTE: compute, QUERN_EMULATED_LAUNCHES: launches });
  expect(existsSync(launches)).toBe(false);
  expect(profile).toMatchObject({ estimated: true, links: { hostToDevice: expect.any(Number) } });
  const { readBandwidth, flops, rowFlops, promptFlops } = profile;
  const expected = [
    32 * clock,
    (0.3 / 6) * operations * clock,
    ((0.7 * 128) / 6) * 2 * clock,
    0.3 * operations * clock,
  ];
  [readBandwidth, flops, rowFlops, promptFlops].forEach((rate, i) =>
    expect(rate / expected[i]!).toBeCloseTo(1, 9),
  );
});

test('estimates with precision exact: prompts are products of floats', () => {
  const { flops, promptFlops } = profileOf({}, { precision: 'exact' });
  expect(promptFlops).toBe(flops);
});

test('rates that were asked for', () => {
  expect(() => run("create({ rates: 'fixed' })")).toThrow(
    /rates must be 'kept', 'table' or 'measure'; got 'fixed'/,
  );
  plant();
  expect(profileOf(cached(), { rates: 'table' })).toMatchObject({
    estimated: true,
    readBandwidth: 32 * clock,
  });
  expect(profileOf(cached())).toMatchObject({ estimated: false, readBandwidth: mark });
  expect(profileOf(cached(), { rates: 'measure' }).readBandwidth).not.toBe(mark);
  expect(readFileSync(onlyFile(), 'utf8')).not.toContain(`bandwidth ${mark}`);
});

test('the rates of another process are read', () => {
  const path = plant();
  expect(profileOf(cached())).toMatchObject({ estimated: false, readBandwidth: mark });
  expect(readFileSync(path, 'utf8')).toMatch(/^quern rates 1\nemulated GPU 07000000.*, CUDA 13\.0, quern \d/);
});

const edits: Readonly<Record<string, (text: string) => string>> = {
  'of another version of Quern': (text) => text.replace(/quern \d+\.\d+\.\d+/, 'quern 0.0.0'),
  'of another driver': (text) => text.replace('CUDA 13.0', 'CUDA 12.4'),
  'of a slice with other processors': (text) => text.replace(/\d+ processors/, '16 processors'),
  'of another format': (text) => text.replace('quern rates 1', 'quern rates 0'),
  'that is 31 days old': (text) =>
    text.replace(/measured \d+/, `measured ${Math.floor(Date.now() / 1000) - 31 * 86_400}`),
  'without a time': (text) => text.replace(/measured \d+/, 'measured x'),
  'that is cut': (text) => text.slice(0, -10),
  'without the last rate': (text) => text.replace(/deviceToHost .*\n/, ''),
  'with a rate of zero': (text) => text.replace(/^flops .*$/m, 'flops 0'),
  'with a rate that is no number': (text) => text.replace(/^flops .*$/m, 'flops nan'),
  'with binary content': () => '\0\xff'.repeat(1000),
  'that is empty': () => '',
};
test('files that are not taken', () => {
  const path = plant();
  const text = readFileSync(path, 'utf8');
  for (const [name, edit] of Object.entries(edits)) {
    writeFileSync(path, edit(text));
    expect([name, profileOf(cached()).estimated]).toEqual([name, true]);
  }
  const [measured] = bandwidths(cached());
  expect(Math.abs(profileOf(cached()).readBandwidth / measured - 1)).toBeLessThan(1e-5);
});

test.each([
  ['a driver that was replaced', { QUERN_EMULATED_DRIVER: '13020' }],
  ['a slice of the GPU (MIG), had it the same UUID', { QUERN_EMULATED_MEMORY: '2048' }],
  ['a slice with its own UUID', { QUERN_EMULATED_UUID: '8' }],
])('%s does not take the rates', (_, env) => {
  plant();
  expect(profileOf({ ...cached(), ...env }).estimated).toBe(true);
});

test('precisions and devices have files of their own', () => {
  plant();
  const two = { ...cached(), QUERN_EMULATED_DEVICES: '2' };
  for (const options of [{ precision: 'exact' }, { device: 1 }]) {
    expect(profileOf(two, options).estimated).toBe(true);
    bandwidths(two, options);
  }
  expect(files()).toHaveLength(3);
  expect(profileOf(two).readBandwidth).toBe(mark);
});

test('without XDG_CACHE_HOME: .cache of the home', () => {
  const env = { ...cached(), XDG_CACHE_HOME: '', HOME: home };
  bandwidths(env);
  expect(readdirSync(join(home, '.cache', 'quern', 'rates'))).toHaveLength(1);
});

test.each<[string, () => Env]>([
  ['no home', () => ({ XDG_CACHE_HOME: '', HOME: '' })],
  ['a home that cannot be written', () => ({ XDG_CACHE_HOME: '/proc' })],
  ['a GPU that cannot be told from others', () => ({ QUERN_EMULATED_UUID: '0' })],
  ['too little free memory to measure well', () => ({ QUERN_EMULATED_TAKEN: '3500' })],
])('%s: nothing is kept, in silence', (_, env) => {
  const [profile, ceilings] = bandwidths({ ...cached(), ...env() });
  expect(profile).toBeGreaterThan(0);
  expect(ceilings).toBe(profile); // one measurement per process
  expect(files()).toEqual([]);
});

test('a folder in the place of the file', () => {
  const path = plant();
  rmSync(path);
  mkdirSync(path);
  expect(profileOf(cached()).estimated).toBe(true);
  expect(bandwidths(cached())[0]).toBeGreaterThan(mark);
  expect(files()).toHaveLength(1);
});

/** Runs `act` with settings of this process and of those that it starts. */
async function inProcesses(env: Env, act: () => Promise<void>): Promise<void> {
  const before = { ...process.env };
  Object.assign(process.env, env);
  try {
    await withSettings(env, act);
  } finally {
    process.env = before;
  }
}

test('the backends of a process that measures do it once', () =>
  inProcesses({ QUERN_CUDA_RATES: 'measure' }, async () => {
    using first = await createBackend();
    using second = await createBackend();
    expect(first.profile.estimated).toBe(false);
    expect(second.profile).toEqual(first.profile);
    const { readBandwidth, rates, estimated } = await first.measureCeilings!();
    expect([readBandwidth, estimated]).toEqual([first.profile.readBandwidth, false]);
    expect(rates).toEqual({ f32: first.profile.flops, bf16: expect.any(Number) });
    expect(rates.bf16).toBeGreaterThan(0);
  }));

test('ceilings that are asked for: measured by a child process, kept, measured again', () =>
  inProcesses(cached(), async () => {
    using backend = await createBackend();
    expect(backend.profile.estimated).toBe(true);
    const launches = join(home, 'launches');
    await withSettings({ QUERN_EMULATED_LAUNCHES: launches }, async () => {
      expect(await backend.measureCeilings!()).toMatchObject({
        estimated: false,
        rates: { f32: expect.any(Number) },
      });
    });
    expect(existsSync(launches)).toBe(false); // not in this process
    const path = onlyFile();
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^bandwidth .*$/m, `bandwidth ${mark}`));
    using next = await createBackend();
    expect(next.profile).toMatchObject({ estimated: false, readBandwidth: mark });
    expect((await next.measureCeilings!()).readBandwidth).toBe(mark);
    expect((await next.measureCeilings!({ again: true })).readBandwidth).toBeGreaterThan(mark);
    expect(readFileSync(path, 'utf8')).not.toContain(`bandwidth ${mark}`);
  }));

test.each([
  ['crashes', { QUERN_EMULATED_FAILS: 'linear_tile_3_f32' }, /^the rates could not be measured: .*planted/],
  [
    'hangs',
    { QUERN_EMULATED_HANGS: 'linear_few*', QUERN_CUDA_WAIT: '0.3' },
    /^the rates could not be measured: the kernel linear_few_1_q4_k did not end on cuda:0 .* within 0\.3 seconds/,
  ],
])('a measurement that %s: a message; estimates stay, and the backend works', (_, settings, message) =>
  inProcesses({ ...cached(), ...settings }, async () => {
    using backend = await createBackend();
    await expect(backend.measureCeilings!()).rejects.toMatchObject({
      code: 'DEVICE_FAILED',
      message: expect.stringMatching(message),
    });
    expect(await normalised(backend, [1, 0])).toEqual([1, 0]);
    using next = await createBackend();
    expect(next.profile.estimated).toBe(true);
    expect(files()).toEqual([]);
  }),
);

describe('a backend that rests', () => {
  /** The file of rates, when a child process has written it and has ended. */
  async function kept(): Promise<string> {
    for (let i = 0; i < 600 && (files().length !== 1 || files()[0]!.endsWith('.lock')); i++) await after(50);
    return onlyFile();
  }

  test('is measured by a child process, for later backends', () =>
    inProcesses(cached(), async () => {
      using backend = await createBackend();
      await normalised(backend, [3, 4]);
      await kept();
      using next = await createBackend();
      expect(next.profile.estimated).toBe(false);
    }));

  test.each<[string, Env]>([
    ['other processes have the memory', { QUERN_EMULATED_TAKEN: '2000' }],
    ['the table is asked for', { QUERN_CUDA_RATES: 'table' }],
    ['there is no home', { XDG_CACHE_HOME: '', HOME: '' }],
    ['the GPU cannot be told from others', { QUERN_EMULATED_UUID: '0' }],
  ])('is not measured where %s', (_, env) =>
    inProcesses({ ...cached(), ...env }, async () => {
      using backend = await createBackend();
      await normalised(backend, [3, 4]);
      await after(2500);
      expect(files()).toEqual([]);
    }),
  );

  test('is not measured before it has run', () =>
    inProcesses(cached(), async () => {
      using backend = await createBackend();
      await after(2500);
      expect(files()).toEqual([]);
      expect(backend.profile.estimated).toBe(true);
    }));
});
