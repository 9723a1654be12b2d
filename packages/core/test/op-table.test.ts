import { recordOps } from '../src/generated/ops.js';
import { type AnyOp, coreOps, elementCount, fills, fusedOps, type Sample } from '../src/index.js';

const core = Object.entries(coreOps) as [string, AnyOp][];
const all = [...core, ...(Object.entries(fusedOps) as [string, AnyOp][])];

test.each(all)('%s is complete', (key, op) => {
  expect(op.name).toBe(key);
  expect(op.doc.length).toBeGreaterThan(4);
  expect(Object.keys(op.operands).length).toBeGreaterThan(0);
  expect(op.tolerance.f32).toBeDefined();
  expect(op.samples().length).toBeGreaterThan(1);
  const names = [...op.samples(), ...op.errors()].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test.each(core)('%s has an error sample', (_key, op) => {
  expect(op.errors().length).toBeGreaterThan(0);
});

test('models can call every core op but ropeTable, which rope records', () => {
  const calls = Object.keys(recordOps).filter((name) => name !== 'view' && name !== 'slice');
  expect(calls).toEqual(Object.keys(coreOps).filter((name) => name !== 'ropeTable'));
});

test('the host fills ops of tensors alone', () => {
  const onHost = core.filter(([name]) => name in fills && fills[name as keyof typeof fills] === 'host');
  expect(onHost.length).toBeGreaterThan(0);
  for (const [, { operands }] of onHost)
    for (const { kind } of Object.values(operands)) expect(kind).toBe('tensor');
});

const specs = ({ operands }: Sample) =>
  Object.fromEntries(
    Object.entries(operands).map(([name, { shape, format }]) => [name, { shape, dtype: format }]),
  );

function wellFormed(op: AnyOp, sample: Sample): void {
  for (const [name, { shape, values }] of Object.entries(sample.operands)) {
    expect(op.operands).toHaveProperty(name);
    expect(values).toHaveLength(elementCount(shape));
  }
  for (const [name, { optional }] of Object.entries(op.operands))
    if (!optional) expect(sample.operands).toHaveProperty(name);
  expect(Object.keys(sample.attributes)).toEqual(Object.keys(op.attributes));
}

test.each(all)('%s: the samples fit the shape rule, which gives one shape per output', (_key, op) => {
  for (const sample of op.samples()) {
    wellFormed(op, sample);
    expect(op.infer(specs(sample), sample.attributes)).toHaveLength(op.outputs.length);
  }
});

test.each(core)('%s: error samples are refused at the stated time', (_key, op) => {
  for (const sample of op.errors()) {
    wellFormed(op, sample);
    const badDtype = sample.code === 'BAD_DTYPE'; // found by the operand rules, before the shape rule
    if (sample.when === 'run') expect(op.infer(specs(sample), sample.attributes)).toBeDefined();
    else if (!badDtype)
      expect(() => op.infer(specs(sample), sample.attributes)).toThrow(
        expect.objectContaining({ code: sample.code, message: expect.stringContaining(`[${op.name}]`) }),
      );
  }
});
