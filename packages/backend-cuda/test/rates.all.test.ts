// Measured rates are kept on disk, on the emulated device.
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

/** Bandwidth by profile and by ceilings, in a process of its own. */
function bandwidths(env: Env, options = {}): [profile: number, ceilings: number] {
  const script = `
    const own = create(${JSON.stringify(options)});
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

test('the rates of another process are read', () => {
  const path = plant();
  expect(bandwidths(cached())).toEqual([mark, mark]);
  expect(readFileSync(path, 'utf8')).toMatch(/^quern rates 1\nemulated GPU 07000000.*, CUDA 13\.0, quern \d/);
});

const edits: Readonly<Record<string, (text: string) => string>> = {
  'of another version of Quern': (text) => text.replace(/quern \d+\.\d+\.\d+/, 'quern 0.0.0'),
  'of another driver': (text) => text.replace('CUDA 13.0', 'CUDA 12.4'),
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
test.each(Object.keys(edits))('a file %s is measured again and replaced', (name) => {
  const path = plant();
  writeFileSync(path, edits[name]!(readFileSync(path, 'utf8')));
  const [measured] = bandwidths(cached());
  expect(measured).toBeGreaterThan(mark);
  expect(readFileSync(onlyFile(), 'utf8')).not.toContain(`bandwidth ${mark}`);
  expect(Math.abs(bandwidths(cached())[0] / measured - 1)).toBeLessThan(1e-5);
});

test('a driver that was replaced', () => {
  plant();
  expect(bandwidths({ ...cached(), QUERN_EMULATED_DRIVER: '13020' })[0]).toBeGreaterThan(mark);
});

test('precisions and devices have files of their own', () => {
  plant();
  const two = { ...cached(), QUERN_EMULATED_DEVICES: '2' };
  expect(bandwidths(two, { precision: 'exact' })[0]).toBeGreaterThan(mark);
  expect(bandwidths(two, { device: 1 })[0]).toBeGreaterThan(mark);
  expect(files()).toHaveLength(3);
  expect(bandwidths(two)).toEqual([mark, mark]);
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
  expect(bandwidths(cached())[0]).toBeGreaterThan(mark);
  expect(files()).toHaveLength(1);
});

test('the backends of a process measure once', async () => {
  using first = await createBackend();
  using second = await createBackend();
  expect(second.profile).toEqual(first.profile);
  const { readBandwidth, rates } = await first.measureCeilings!();
  expect(readBandwidth).toBe(first.profile.readBandwidth);
  expect(rates).toEqual({ f32: first.profile.flops, bf16: expect.any(Number) });
  expect(rates.bf16).toBeGreaterThan(0);
});
