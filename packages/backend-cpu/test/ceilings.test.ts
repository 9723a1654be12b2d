import { createBackend } from '../src/index.js';
import { testedIsas } from './isas.js';

test.each(await testedIsas())(
  '%s: ceilings are rates of instructions that the kernels may use',
  async (isa) => {
    using backend = await createBackend({ isa, threads: 2 });
    const { readBandwidth, readBandwidthOneThread, rates } = await backend.measureCeilings!();
    for (const rate of [readBandwidth, readBandwidthOneThread, ...Object.values(rates)]) {
      expect(rate).toBeGreaterThan(0);
      expect(Number.isFinite(rate)).toBe(true);
    }
    const names = Object.keys(rates);
    expect(names).toContain('f32');
    if (isa === 'scalar') expect(names).toEqual(['f32']);
    if (isa === 'avx2') expect(names).toEqual(['f32', 'int8']);
  },
);

test('a disposed backend rejects a measurement', async () => {
  const backend = await createBackend();
  backend.dispose();
  await expect(backend.measureCeilings!()).rejects.toMatchObject({ code: 'DISPOSED' });
});
