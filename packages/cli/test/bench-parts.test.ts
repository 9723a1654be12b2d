// `quern bench` of a model in parts: figures are named by the plan, and options of one backend are refused.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSyntheticEncoder } from '@quern/runtime';
import { quern } from './cli.js';

const folder = mkdtempSync(join(tmpdir(), 'quern-bench-parts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const small = ['bench', '--model', 'demo', '--backend', 'cpu,reference', '--threads', '1'];
const quick = [...small, '--prompt', '4', '--gen', '2', '--repeat', '1'];

test('bench --split names the layers of each backend, and holds the parts against scalar code', async () => {
  const svg = join(folder, 'chart.svg');
  const { code, stdout, stderr } = await quern([...quick, '--split', '0-3,4', '--svg', svg]);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^demo, cpu 0-3 \+ reference 4 \(.* \+ float64, 1 thread, standard \+ exact\): loaded in /m,
  );
  expect(stdout).toMatch(/output within .* of cpu \(scalar\)$|output within .* of reference/m);
  for (const work of ['prefill 4', 'decode 2'])
    expect(stdout).toMatch(new RegExp(`^demo, cpu 0-3 \\+ reference 4 .* ${work} `, 'm'));
  expect(stderr).toContain('split as asked');
  expect(readFileSync(svg, 'utf8')).toContain('demo, cpu 0-3 + reference 4, decode 2');
}, 120_000);

test('bench of several backends without --split measures the plan of run; --json names it', async () => {
  const { code, stdout } = await quern([...quick, '--no-check', '--json']);
  expect(code).toBe(0);
  const { machines, runs } = JSON.parse(stdout);
  expect(machines.map(({ backend }: { backend: string }) => backend)).toEqual(['cpu', 'reference']);
  expect(runs).toMatchObject([
    {
      model: 'demo',
      backend: 'cpu + reference',
      plan: 'cpu 0-3 + reference 4',
      threads: 1,
      precision: 'standard + exact',
      check: null,
    },
  ]);
  for (const work of runs[0].works) {
    expect(work.tokensPerSecond).toBeGreaterThan(0);
    expect(work).not.toHaveProperty('ceiling');
  }
}, 120_000);

test.each([
  [['--backend', 'cpu,cpu'], /--backend names 'cpu' twice/],
  [['--split', '0-3,4'], /auto chooses one backend: name each/],
  [['--backend', 'cpu,auto'], /auto chooses one backend: name each/],
  [
    ['--backend', 'cpu,reference', '--isa', 'avx2'],
    /--isa is of one backend: .* --backend-option cpu\.isa=avx2/,
  ],
  [
    ['--backend', 'cpu,reference', '--backend-option', 'isa=avx2'],
    /--backend-option names '', which is not among cpu,reference/,
  ],
  [['--backend', 'cpu,reference', '--split', '0-3'], /layer 4 is in no range \(BAD_OPTION\)/],
])('bench %j is refused', async (flags, says) => {
  const { code, stdout, stderr } = await quern(['bench', '--model', 'demo', ...flags]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(says);
});

test('bench of an encoder in parts is refused', async () => {
  const path = join(folder, 'encoder.gguf');
  await makeSyntheticEncoder(path, { shape: 'tiny', format: 'f32' });
  const { code, stderr } = await quern(['bench', '--model', path, '--backend', 'cpu,reference']);
  expect([code, stderr]).toEqual([
    1,
    `error: ${path} lies on one backend: --split and several names in --backend are for language models\n`,
  ]);
});
