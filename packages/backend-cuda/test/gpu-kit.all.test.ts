// tools/gpu rehearsed on the emulated device: a tree without node_modules, a PATH without Node.
import './emulated.js';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'quern-gpu-kit-'));
const kit = join(scratch, 'kit');
const bin = join(scratch, 'bin');

/** All that the machine with a GPU must have. */
const programs = [
  'sh',
  'gzip',
  'mktemp',
  'chmod',
  'dirname',
  'mkdir',
  'rm',
  'date',
  'timeout',
  'tar',
  'cp',
  'mv',
];

beforeAll(() => {
  mkdirSync(bin);
  for (const program of programs)
    symlinkSync(
      execFileSync('sh', ['-c', `command -v ${program}`])
        .toString()
        .trim(),
      join(bin, program),
    );
  execFileSync(process.execPath, [join(root, 'tools/gpu/bring.mjs'), '--emulated', '--to', kit]);
});
afterAll(() => rmSync(scratch, { recursive: true }));

/** The results of a part. `settings`: variables of run.sh. */
function run(part: string, settings = {}) {
  const env = { PATH: bin, OUT: join(scratch, 'out'), QUERN_GPU_KIT: kit, ...settings };
  const output = execFileSync('sh', [join(root, 'tools/gpu/run.sh'), '--small', part], { env }).toString();
  return { output, results: JSON.parse(readFileSync(join(scratch, 'out', `results-${part}.json`), 'utf8')) };
}

test('check', () => {
  const { output, results } = run('check');
  expect(output).toMatch(/passed {2}a story: .* the first 3, 3, 3, 3 of 3 greedy tokens/);
  expect(results.machine).toMatchObject({ device: 'emulated GPU', emulated: true });
  expect(results.checks).toMatchObject({ 'one op': { passed: true }, conformance: { passed: true } });
});

test('ceilings', () => {
  const { copyBandwidth, bf16Rate } = run('ceilings').results.ceilings;
  expect(copyBandwidth).toEqual({ by: 'quern', value: expect.any(Number) });
  expect(bf16Rate.value).toBeGreaterThan(0);
  expect(bf16Rate.by).toMatch(/^quern/);
});

test('kernels: what the time does not allow is named', () => {
  run('ceilings');
  const { kernels, skipped, unfinished } = run('kernels', { QUERN_GPU_SECONDS: '15' }).results;
  expect(unfinished).toBeUndefined();
  expect(kernels).toEqual([]);
  expect(skipped).toContain('linear iq8 …×[64×256], exact');
});

test('choices: a case once per kernel that is forced', () => {
  const { cases, failures } = run('choices', { QUERN_GPU_CHOICES: 'ROWS=[12]$|PRODUCT=64x64 1' }).results;
  expect(failures).toEqual([]);
  const waysOf = (name: string) => {
    const { best, ways } = cases.find((one: { name: string }) => one.name === name);
    const names: string[] = ways.map(({ alternative }: { alternative: string }) => alternative);
    expect(best).toBe(names[0]);
    return names.sort();
  };
  expect(waysOf('linear q4_k 16×[64×256]')).toEqual(['QUERN_CUDA_ROWS=1', 'QUERN_CUDA_ROWS=2', 'as chosen']);
  expect(waysOf('linear q4_k 160×[64×256]')).toEqual(['QUERN_CUDA_PRODUCT=64x64 1', 'as chosen']);
});

test('a part without time is not started', () => {
  expect(() => run('ceilings', { QUERN_GPU_SECONDS: '5' })).toThrow(
    /ceilings was not started: the time is up/,
  );
});

test.each(['results-ceilings.json', 'results.tar'])('%s of a rehearsal has no figures', (file) => {
  run('ceilings');
  const report = () =>
    execFileSync(process.execPath, [join(root, 'tools/gpu/report.mjs'), join(scratch, 'out', file)]);
  expect(report).toThrow(/results of a rehearsal/);
});

test('a part that is not there', () => {
  expect(() => run('chekc')).toThrow(/there is no part 'chekc'/);
});
