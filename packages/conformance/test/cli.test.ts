import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const cli = at('../dist/cli.js');
const reference = at('../../backend-reference');

type Ended = Promise<{ code: number | null; stdout: string; stderr: string }>;

function command(...args: string[]): Ended {
  if (!existsSync(cli)) throw new Error(`${cli} is missing: build it with nx build @quern/conformance`);
  return run(cli, ...args);
}

function run(...args: string[]): Ended {
  const child = spawn(process.execPath, args);
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout.on('data', (text) => out.push(String(text)));
  child.stderr.on('data', (text) => err.push(String(text)));
  return new Promise((resolve) =>
    child.on('close', (code) => resolve({ code, stdout: out.join(''), stderr: err.join('') })),
  );
}

const folder = mkdtempSync(join(tmpdir(), 'quern-kit-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A plugin module, with the reference driver in scope as `referenceDriver`. */
function module(name: string, text: string): string {
  const path = join(folder, name);
  const from = JSON.stringify(join(reference, 'dist/index.js'));
  writeFileSync(path, `import { createBackend as make, referenceDriver } from ${from};\n${text}`);
  return path;
}

const quick = ['--only', 'ops', '--cases', '^add:'];

test.each([
  ['the folder of a package', reference],
  ['a module with createBackend', join(reference, 'dist/index.js')],
  ['a module with createDriver', module('driver.mjs', 'export const createDriver = referenceDriver;')],
  ['a module with a default function', module('default.mjs', 'export default make;')],
])(
  '%s is proved',
  async (_name, target) => {
    const { code, stdout } = await command(target, ...quick);
    expect(stdout).toMatch(/exact: add\n\n\d+ passed, 0 failed, 0 not supported\n$/);
    expect(code).toBe(0);
  },
  120_000,
);

test('another export is selected by name', async () => {
  const path = module('named.mjs', 'export const plain = referenceDriver;');
  expect(await command(path, ...quick)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /exports no function createDriver, .*; it exports plain\. .* --export \(BAD_MODULE\)/,
    ),
  });
  expect((await command(path, '--export', 'plain', ...quick)).code).toBe(0);
}, 120_000);

test('a failure gives exit code 1, and a report as JSON', async () => {
  const wrong = `export const createDriver = () => {
    const driver = referenceDriver();
    return { ...driver, kernels: { ...driver.kernels, add() {} } };
  };`;
  const { code, stdout } = await command(module('wrong.mjs', wrong), ...quick, '--json');
  expect(code).toBe(1);
  const report = JSON.parse(stdout);
  expect(report.failed).toBeGreaterThan(0);
  expect(report.closeness).toMatchObject([{ op: 'add', format: 'f32', share: null }]); // tolerance 0
}, 120_000);

test.each([1, 3])(
  'a driver for contract %i: what to update, as a sentence',
  async (contract) => {
    const text = `export const createDriver = () => ({ ...referenceDriver(), contract: ${contract} });`;
    const { code, stderr } = await command(module(`contract-${contract}.mjs`, text), ...quick);
    expect([code, stderr.trim().split('\n').length]).toEqual([1, 1]);
    expect(stderr).toMatch(
      /^quern-conformance: driver 'reference' was made for contract \d of @quern\/core.*: update .* \(WRONG_CONTRACT\)$/m,
    );
  },
  120_000,
);

test('an older core lacks an export: a sentence, without a stack', async () => {
  const modules = join(folder, 'apart/node_modules');
  const own = join(modules, '@quern/conformance');
  cpSync(at('../dist'), join(own, 'dist'), { recursive: true });
  cpSync(at('../package.json'), join(own, 'package.json'));
  mkdirSync(join(modules, '@quern/core'));
  writeFileSync(
    join(modules, '@quern/core/package.json'),
    JSON.stringify({
      name: '@quern/core',
      version: '0.0.1',
      type: 'module',
      exports: { '.': './index.js', './testing': './index.js' },
    }),
  );
  writeFileSync(join(modules, '@quern/core/index.js'), 'export const contractVersion = 2;');
  symlinkSync(at('../node_modules/commander'), join(modules, 'commander'));
  symlinkSync(at('../../quant'), join(modules, '@quern/quant'));
  const { code, stderr } = await run(join(own, 'dist/cli.js'), reference);
  expect([code, stderr.trim().split('\n').length]).toEqual([1, 1]);
  expect(stderr).toMatch(
    /'@quern\/core' does not provide an export named '\w+'\. Update all of them: npm install/,
  );
}, 120_000);

test.each([
  ['an unknown suite', [reference, '--only', 'opz'], "there is no suite 'opz'"],
  ['a missing file', ['./nowhere.js'], "there is no file, folder or installed package './nowhere.js'"],
  ['a package of another kind', [at('../../core')], 'declares no backend'],
  ['an invalid seed', [reference, '--seed', 'x'], 'it must be a whole number from 0'],
])(
  '%s is an error',
  async (_name, args, message) => {
    const { code, stderr } = await command(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  },
  120_000,
);

test('another seed makes other cases, the same at each run', async () => {
  const names = async (...args: string[]) => {
    const { stdout } = await command(reference, '--only', 'generated', '--cases', '^add:', '--json', ...args);
    return JSON.parse(stdout).results.map((result: { name: string }) => result.name);
  };
  const [first, other, again] = [await names(), await names('--seed', '7'), await names('--seed', '7')];
  expect(other).toEqual(again);
  expect(other).not.toEqual(first);
}, 120_000);
