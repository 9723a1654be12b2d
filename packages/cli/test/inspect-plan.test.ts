// The plan of `quern run`, as `quern inspect` tells it.
import { rmSync } from 'node:fs';
import { quern } from './cli.js';
import { installCommand } from './installed.js';

test('inspect prints the plan that run would make, and --json gives it', async () => {
  const { code, stdout } = await quern(['inspect', 'demo']);
  expect(code).toBe(0);
  for (const line of [
    /^ {2}plan: context 512, cache f16, [\d.]+ [GM]B free$/m,
    /^ {4}layers 0-4 on cpu, precision standard: weights 2\.5 MB, cache 0\.7 MB, activations [\d.]+ MB$/m,
    /^ {4}planned by the devices' rates: prefill [\d.]+, decode [\d.]+ tokens\/s$/m,
    /^ {4}'cpu' \(.*threads?\): the (only backend that loads|fastest by measurement that fits)$/m,
    /^ {4}context 512: all that the model was trained for$/m,
  ])
    expect(stdout).toMatch(line);
  const { plan } = JSON.parse((await quern(['inspect', 'demo', '--json'])).stdout);
  const ran = JSON.parse((await quern(['run', 'demo', '-p', 'A', '-n', '1', '--json'])).stdout);
  const { memory, ...lasting } = ran.plan.ranges[0];
  expect(plan).toMatchObject({ context: ran.plan.context, cacheDtype: 'f16', reasons: ran.plan.reasons });
  expect(plan.ranges[0]).toMatchObject(lasting);
  expect(plan.ranges[0].memory).toMatchObject({ weights: memory.weights, cache: memory.cache });
});

test('--backend, --split, --ctx, --kv and --precision are planned for', async () => {
  const flags = [
    '--backend',
    'cpu,reference',
    '--split',
    '0-3,4',
    '--ctx',
    '100',
    '--kv',
    'f32',
    '--precision',
    'fast',
  ];
  const { stdout } = await quern(['inspect', 'demo', ...flags]);
  expect(stdout).toMatch(/^ {2}plan: context 100, cache f32, /m);
  expect(stdout).toMatch(/^ {4}layers 0-3 on cpu, precision fast: /m);
  expect(stdout).toMatch(/^ {4}layer 4 on reference, precision exact: /m);
  expect(stdout).toMatch(/^ {4}split as asked$/m);
  expect(stdout).toMatch(/^ {4}layer 4 on 'reference' .* about [\d.]+ ms of each token/m);
});

test('no backend, or too little memory, is one line; a wrong flag is an error', async () => {
  const large = await quern(['inspect', 'demo', '--ctx', '2000000000']);
  expect(large.code).toBe(0);
  expect(large.stdout).toMatch(/^ {2}plan: none here: a context of 2000000000 .*\(CONTEXT_TOO_LARGE\)$/m);
  const broken = await quern(['inspect', 'demo', '--json'], '', { env: { QUERN_CPU_BINARY: '/none' } });
  expect(broken.code).toBe(0);
  const { plan, planError } = JSON.parse(broken.stdout);
  expect([plan, planError.code, planError.message.includes('\n')]).toEqual([null, 'BACKEND_FAILED', false]);
  const wrong = await quern(['inspect', 'demo', '--backend', 'cpu', '--split', '0-9']);
  expect([wrong.code, wrong.stdout]).toEqual([1, '']);
  expect(wrong.stderr).toMatch(/beyond the model's layers.*\(BAD_OPTION\)/);
});

test('an installation without a backend', async () => {
  const { folder, script } = installCommand(['backend-cpu']);
  try {
    const { code, stdout, stderr } = await quern(['inspect', 'demo'], '', { script, cwd: folder });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /^ {2}plan: none here: there is no backend to compute with: .* npm install @quern\/backend-cpu\. .*\(NO_BACKEND\)$/m,
    );
    expect(stdout).toContain('general.architecture = "llama"');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
