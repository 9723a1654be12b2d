// The kit on groups of drivers: a correct group, and faults in it.
import { referenceGroup } from '@quern/backend-reference';
import { runConformance } from '@quern/conformance';
import {
  defineBackend,
  elements,
  type HostBuffer,
  type Kernel,
  type KernelDriver,
  type KernelMemory,
  need,
} from '@quern/core';

type Plant = (kernel: Kernel, rank: number) => Kernel;

const floatsOf = (operand: KernelMemory) => elements(operand) as Float32Array;

const groupWith = (op: 'allReduce' | 'allGather', plant: Plant) => (worldSize: number) =>
  referenceGroup(worldSize).map(
    (driver, rank): KernelDriver => ({
      ...driver,
      kernels: { ...driver.kernels, [op]: plant(driver.kernels[op]!, rank) },
    }),
  );

const run = (createGroup: (worldSize: number) => readonly KernelDriver[]) =>
  runConformance({
    createDriver: () => createGroup(1)[0]!,
    createGroup,
    only: { suites: ['collective'] },
  });

test('a correct group passes', async () => {
  const report = await run(referenceGroup);
  expect(report.results.filter(({ status }) => status !== 'passed')).toEqual([]);
  expect(report.passed).toBeGreaterThan(15);
});

/** The kernel, then `spoil` on its output. */
const afterwards =
  (spoil: (y: Float32Array, rank: number, by: number) => void): Plant =>
  (kernel, rank) =>
  async (given, attributes, outputs) => {
    await kernel(given, attributes, outputs);
    spoil(floatsOf(outputs[0]!), rank, attributes.by!);
  };

const faults: Readonly<Record<string, [(worldSize: number) => readonly KernelDriver[], RegExp]>> = {
  'ranks get different bits': [
    groupWith(
      'allReduce',
      afterwards((y, rank) => (y[0] = y[0]! + rank * 2 ** -22 * y[0]!)),
    ),
    /^allReduce by sum, 2/,
  ],
  'the maximum is used as the minimum': [
    groupWith(
      'allReduce',
      (kernel) =>
        (given, { by }, outputs) =>
          kernel(given, { by: by === 2 ? 1 : by! }, outputs),
    ),
    /^allReduce by min, 2/,
  ],
  'rows are gathered in the wrong rank order': [
    groupWith(
      'allGather',
      afterwards((y, rank) => {
        if (rank > 0) y.set([...y.subarray(y.length / 2), ...y.subarray(0, y.length / 2)]);
      }),
    ),
    /^allGather, 2/,
  ],
  'a slice is used as its whole tensor': [
    groupWith('allGather', (kernel) => (given, attributes, outputs) => {
      const x = given.x as KernelMemory;
      const { bytes } = x.buffer as HostBuffer;
      const fits = x.byteOffset % 64 === 0 || bytes.byteLength < x.byteOffset;
      return kernel(
        { x: fits ? x : { ...x, byteOffset: x.byteOffset - (x.byteOffset % 64) } },
        attributes,
        outputs,
      );
    }),
    /^between other ops/,
  ],
};

test.each(Object.entries(faults))('the kit finds: %s', async (_name, [createGroup, caughtBy]) => {
  const { results } = await run(createGroup);
  const failed = results.filter(({ status }) => status === 'failed').map(({ name }) => name);
  expect(failed).toEqual(expect.arrayContaining([expect.stringMatching(caughtBy)]));
});

test('a rank that leaves rejects the runs of the others', async () => {
  const [left, right] = referenceGroup(2).map((driver) => defineBackend(driver));
  need(left!, 'collective');
  const step = left.step();
  left.collective.allReduce(step.input(Float32Array.of(1)), 'sum');
  const running = step.run();
  right!.dispose();
  await expect(running).rejects.toMatchObject({
    code: 'DEVICE_FAILED',
    message: expect.stringContaining('rank 1'),
  });
  left.dispose();
});
