// Options, environment variables, and error messages for unavailable choices.
import { platform } from '@quern/native-runtime';
import { cpuDriver } from '../src/index.js';
import { loadCpuAddon } from '../src/load.js';
import { availableIsas, knownIsas } from './isas.js';

const environment = { ...process.env };
afterEach(() => {
  process.env = { ...environment };
});

test('QUERN_CPU_ISA forces an instruction set', async () => {
  for (const isa of await availableIsas()) {
    process.env.QUERN_CPU_ISA = isa;
    const driver = await cpuDriver({ threads: 1 });
    expect(driver.profile.isa).toBe(isa);
    driver.dispose();
  }
});

test('an unknown instruction set is an error that lists the known ones', async () => {
  process.env.QUERN_CPU_ISA = 'sse9';
  await expect(cpuDriver()).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: expect.stringMatching(/'sse9'.*have: .*scalar/),
  });
});

test('default: the best instruction set; an emulated one on request only', async () => {
  delete process.env.QUERN_CPU_ISA;
  const message = await cpuDriver({ isa: 'sse9' }).then(
    () => '',
    (error: Error) => error.message,
  );
  const listed = message.replace(/.*have: /, '').split(', ');
  const own = listed.slice(0, listed.indexOf('scalar') + 1); // emulated ones come after scalar
  const driver = await cpuDriver({ threads: 1 });
  expect(driver.profile.isa).toBe(own[0]);
  driver.dispose();
  expect(own).toEqual(knownIsas.filter((isa) => own.includes(isa)));
  expect(new Set(listed)).toEqual(new Set(await availableIsas()));
});

test.each([0, -1, 1.5, Number.NaN, 100_000])('%d threads are refused', async (threads) => {
  await expect(cpuDriver({ threads })).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
});

test('the most threads are those of the option `threads` of @quern/runtime', async () => {
  await expect(cpuDriver({ threads: 1025 })).rejects.toThrow('threads must be from 1 to 1024; got 1025');
});

test('default: as many threads as the process may use', async () => {
  const [own, three] = [await cpuDriver(), await cpuDriver({ threads: 3 })];
  expect(own.profile.threads).toBeGreaterThanOrEqual(1);
  expect(three.profile.threads).toBe(3);
  own.dispose();
  three.dispose();
});

test('a missing binary: the error lists candidates and advice', () => {
  process.env.QUERN_CPU_BINARY = '/nowhere/backend_cpu.node';
  const load = () => loadCpuAddon();
  expect(load).toThrow(expect.objectContaining({ code: 'UNSUPPORTED' }));
  expect(load).toThrow(platform());
  expect(load).toThrow('/nowhere/backend_cpu.node');
  expect(load).toThrow('npx quern-backend-cpu build');
});
