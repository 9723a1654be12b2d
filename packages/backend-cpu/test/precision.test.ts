// The option `precision`: what products round, and what the profile tells.
import { type Backend, type HostArray, type Precision, precisions } from '@quern/core';
import { normal } from '@quern/core/testing';
import { decode, encodeAll } from '@quern/quant';
import { createBackend } from '../src/index.js';
import { testedIsas } from './isas.js';

const [T, K, N] = [64, 512, 48];
const x = Float32Array.from(normal(1, [T, K]).values);
const blocks = encodeAll('q4_0', Float32Array.from(normal(2, [N, K]).values));

/** Sets with kernels that round many rows once more. */
const coarse = ['amx', 'avx512-bf16', 'avx512-vnni'];

/** x · wᵀ in double precision. */
function exactly(): Float64Array {
  const w = new Float32Array(N * K);
  decode('q4_0', blocks, 0, w, 0, w.length);
  return Float64Array.from({ length: T * N }, (_, i) => {
    const [row, column] = [Math.floor(i / N) * K, (i % N) * K];
    let sum = 0;
    for (let k = 0; k < K; k++) sum += x[row + k]! * w[column + k]!;
    return sum;
  });
}

async function multiply(backend: Backend): Promise<HostArray> {
  const source = { name: 'w', shape: [N, K], format: 'q4_0', bytes: blocks } as const;
  using w = await backend.loadWeight(source);
  using step = backend.step();
  return await step.read(backend.linear(step.input(x, [T, K]), w));
}

describe.each(await testedIsas())('%s', (isa) => {
  /** ‖y − expected‖ ÷ ‖expected‖ of 64 rows. */
  async function errorAt(precision: Precision): Promise<number> {
    using backend = await createBackend({ isa, threads: 2, precision });
    const [y, expected] = [await multiply(backend), exactly()];
    const norm = (values: Float64Array) => Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0));
    return norm(expected.map((value, i) => value - y[i]!)) / norm(expected);
  }

  test('each precision rounds as it says', async () => {
    const [fast, standard, exact] = [
      await errorAt('fast'),
      await errorAt('standard'),
      await errorAt('exact'),
    ];
    expect(exact).toBeLessThan(1e-6);
    if (isa === 'scalar') expect([fast, standard]).toEqual([exact, exact]);
    else {
      expect(standard).toBeGreaterThan(1e-3);
      expect(standard).toBeLessThan(8e-3);
    }
    if (coarse.includes(isa)) expect(fast).toBeGreaterThan(1.3 * standard);
    else expect(fast).toBe(standard);
  });

  test('the profile tells the precision, and measures prompts with its kernels', async () => {
    for (const precision of precisions) {
      using backend = await createBackend({ isa, threads: 1, precision });
      expect(backend.profile).toMatchObject({ precision, promptFlops: expect.any(Number) });
    }
    using backend = await createBackend({ isa, threads: 1 });
    expect(backend.profile.precision).toBe('standard');
  });
});

test.each(['best', '', null, 1])('precision %p is refused', async (precision) => {
  await expect(createBackend({ precision: precision as Precision })).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
    message: expect.stringContaining("'fast' or 'standard' or 'exact'"),
  });
});

test('an unknown option is refused; the message lists the known ones', async () => {
  await expect(createBackend({ accuracy: 'fast' } as object)).rejects.toMatchObject({
    code: 'BAD_ARGUMENT',
    message: expect.stringContaining('threads, isa, precision'),
  });
});
