import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeSyntheticEncoder, RuntimeError } from '@quern/runtime';
import { makeApplication } from '../../runtime/test/application.js';
import { referenceMissing } from '../src/verify/load.js';
import { quern } from './cli.js';
import { installCommand } from './installed.js';

const built = (name: string) =>
  JSON.stringify(pathToFileURL(new URL(`../../${name}/dist/index.js`, import.meta.url).pathname).href);

/** A copy of the reference backend; products with one weight are slightly wrong. */
const source = `
  import { defineBackend } from ${built('core')};
  import { referenceDriver } from ${built('backend-reference')};
  export async function createBackend() {
    const driver = referenceDriver();
    const names = new WeakMap();
    return defineBackend({
      ...driver,
      name: 'wrong',
      async loadWeight(source) {
        const weight = await driver.loadWeight(source);
        names.set(weight, source.name);
        return weight;
      },
      kernels: {
        ...driver.kernels,
        linear(operands, attributes, [y]) {
          driver.kernels.linear(operands, attributes, [y]);
          if (names.get(operands.w.weight) !== 'blk.1.ffn_down.weight') return;
          const values = new Float32Array(y.buffer.bytes, y.byteOffset, y.shape[0] * y.shape[1]);
          values.forEach((value, i) => { values[i] = value * SCALE; });
        },
      },
    });
  }`;

const application = (scale: number) =>
  makeApplication({
    'quern-backend-wrong': {
      quern: { backend: './index.mjs' },
      files: { 'index.mjs': source.replace('SCALE', String(scale)) },
    },
  });

const cwd = application(1.01);
const far = application(-3);
afterAll(() => {
  for (const folder of [cwd, far]) rmSync(folder, { recursive: true });
});

const short = ['--tokens', '6', '--json'];

test('verify: the native backend is near the reference, in every way of computing', async () => {
  const { code, stdout } = await quern(['verify', 'demo', '--backend', 'cpu', ...short]);
  const verdict = JSON.parse(stdout);
  expect(verdict).toMatchObject({ backend: 'cpu', passed: true, greedy: { tokens: 6 } });
  expect(verdict.comparisons.map(({ way }: { way: string }) => way)).toEqual([
    'prefill',
    'in chunks of 5',
    'token by token',
  ]);
  for (const { rows, error } of verdict.comparisons) {
    expect(rows).toBe(6);
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(0.05);
  }
  expect(code).toBe(0);
}, 120_000);

test.each([
  ['the model', [], ['reference', 'wrong']],
  ['op by op', ['--ops'], ['wrong']],
])(
  'verify, %s: a notice is shown once per backend, by its name',
  async (_, more, backends) => {
    const args = ['verify', 'demo', '--backend', 'wrong', '--tokens', '2', '--json', ...more];
    const { stderr } = await quern(args, '', { cwd });
    const named = [...stderr.matchAll(/backend '(\S+)' does not read q8_0 natively/g)].map(
      ([, name]) => name,
    );
    expect(named).toEqual(backends);
  },
  120_000,
);

test('verify --ops names the first wrong op, with layer, shapes and error', async () => {
  const args = ['verify', 'demo', '--backend', 'wrong', '--ops', ...short];
  const { code, stdout } = await quern(args, '', { cwd });
  const { first, compared, strayed } = JSON.parse(stdout);
  expect(first).toMatchObject({
    op: 'linear',
    place: 'blk.1.ffn_down.weight',
    operands: expect.stringMatching(/^x f32\[6, \d+\], w f32\[\d+, \d+\]$/),
    message: expect.stringMatching(/^y\[0, \d+\] is .*; expected .* ± .* elements differ\)$/),
  });
  expect(compared).toBeGreaterThan(100);
  expect(strayed).toBe(2); // one op in prefill, one in decode
  expect(code).toBe(1);
}, 120_000);

test('verify --ops: the native backend passes, with quantised weights', async () => {
  const { code, stdout } = await quern(['verify', 'demo', '--backend', 'cpu', '--ops', '--tokens', '6']);
  expect(stdout).toMatch(/linear +q8_0 \d+\n/);
  expect(stdout).toMatch(/\n\d+ ops compared, 0 beyond their tolerance\n$/);
  expect(code).toBe(0);
}, 120_000);

test('verify: status 1 for a wrong backend', async () => {
  const args = ['verify', 'demo', '--backend', 'wrong', '--tokens', '4'];
  const { code, stdout } = await quern(args, '', { cwd: far });
  expect(stdout).toMatch(/BEYOND the tolerance of 5\.00 %/);
  expect(code).toBe(1);
}, 120_000);

describe('an encoder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quern-verify-'));
  const model = join(folder, 'encoder.gguf');
  beforeAll(() => makeSyntheticEncoder(model, { shape: 'tiny', format: 'q8_0' }));
  afterAll(() => rmSync(folder, { recursive: true }));
  const verify = (backend: string, ...more: string[]) =>
    quern(['verify', model, '--backend', backend, ...more], '', { cwd: far });

  test('native backend: near the reference, in one batch and one by one', async () => {
    const { code, stdout } = await verify('cpu', '--json');
    const { comparisons, passed } = JSON.parse(stdout);
    expect(comparisons.map(({ way }: { way: string }) => way)).toEqual([
      'texts together',
      'texts one by one',
    ]);
    for (const { rows, error } of comparisons) {
      expect(rows).toBe(4);
      expect(error).toBeGreaterThan(0);
      expect(error).toBeLessThan(0.05);
    }
    expect({ passed, code }).toEqual({ passed: true, code: 0 });
  }, 120_000);

  test('wrong backend: status 1', async () => {
    const { code, stdout } = await verify('wrong');
    expect(stdout).toMatch(/^texts together +error .* in \d of 4\n(.*\n)*BEYOND the tolerance of 5\.00 %\n$/);
    expect(code).toBe(1);
  }, 120_000);

  test('op by op: the first wrong op is named', async () => {
    const right = await verify('cpu', '--ops', '--json');
    expect(JSON.parse(right.stdout)).toMatchObject({ compared: expect.any(Number), strayed: 0 });
    expect(JSON.parse(right.stdout).compared).toBeGreaterThan(20);
    const wrong = await verify('wrong', '--ops', '--json');
    expect(JSON.parse(wrong.stdout)).toMatchObject({
      strayed: 1,
      first: { op: 'linear', place: 'blk.1.ffn_down.weight' },
    });
    expect([right.code, wrong.code]).toEqual([0, 1]);
  }, 120_000);
});

describe('without the reference backend', () => {
  const { folder, script } = installCommand();
  afterAll(() => rmSync(folder, { recursive: true }));
  const verify = (...more: string[]) =>
    quern(['verify', 'demo', '--backend', 'cpu', '--tokens', '4', ...more], '', { cwd: folder, script });

  test('the error has the install command', async () => {
    const { code, stdout, stderr } = await verify();
    expect(stderr).toMatch(
      /'reference', which is not installed: npm install @quern\/backend-reference; or .* --ops/,
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  }, 120_000);

  test('--ops works', async () => {
    const { code, stdout } = await verify('--ops');
    expect(stdout).toMatch(/\n\d+ ops compared, 0 beyond their tolerance\n$/);
    expect(code).toBe(0);
  }, 120_000);

  test('other errors are unchanged', () => {
    const missing = new RuntimeError('BACKEND_NOT_FOUND', "no installed backend is called 'reference'");
    expect(referenceMissing(missing)).toMatchObject({ code: 'BACKEND_NOT_FOUND', cause: missing });
    expect(referenceMissing(new Error('another'))).toBeUndefined();
  });
});
