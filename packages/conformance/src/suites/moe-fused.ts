import { denseFormats, fusedOps, moeOperands, type WeightSource } from '@quern/core';
import { as } from '@quern/core/testing';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { checkOutcome, define, type OpCase } from '../ops/expect.js';
import { floats, fresh } from '../ops/fresh.js';
import { generate } from '../ops/generate.js';
import { recordItself } from '../ops/run-op.js';
import { bytesOf, hostValues, numbersOf, type Operand } from '../values/numbers.js';
import { fusedCase } from './fused.js';

const suite = 'moeFused';
const on = fresh(suite);
const { moe } = fusedOps;
const direct = recordItself(moe);

/** The op itself, against its definition and against the plain ops. */
export const moeCase = (lab: Lab, of: string, sample: OpCase): Case =>
  fusedCase(lab, of, 'moe', sample, direct);

/** A stack [E, N, K] with its matrices as parts. */
function inMatrices(name: string, stack: Operand): WeightSource {
  const { shape, format } = stack;
  const [E, N, K] = shape as [number, number, number];
  const values = Array.from(stack.values);
  const bytes = Array.from({ length: E }, (_, e) => {
    const matrix = { shape: [N, K], format, values: values.slice(e * N * K, (e + 1) * N * K) };
    return { bytes: bytesOf(hostValues(matrix)), rows: N };
  });
  return { name, shape, format, bytes };
}

/** Stacks made of parts, recorded by the call of models. */
const stacked = (format: string): Case =>
  on(`moe of ${format} stacks in parts`, async (backend) => {
    const { x, router, gate, up, down, residual } = moeOperands(7, [5, 24, 6, 17], 3);
    const sample: OpCase = {
      name: '',
      operands: { x, router, gate: as(format, gate), up: as(format, up), down: as(format, down), residual },
      attributes: { chosen: 3, renormalise: 1 },
    };
    const { moe: record } = backend.moeFused!;
    const stack = (name: 'gate' | 'up' | 'down') =>
      backend.loadWeight(inMatrices(name, sample.operands[name]!));
    const weights = { gate: await stack('gate'), up: await stack('up'), down: await stack('down') };
    const loaded = await backend.loadWeight({
      name: 'router',
      ...router,
      bytes: bytesOf(hostValues(router)),
    });
    const step = backend.step();
    const rows = step.input(floats(...x.values), x.shape);
    const y = record(
      rows,
      { router: loaded, ...weights },
      step.input(floats(...Array.from(residual.values)), residual.shape),
      { experts: 6, chosen: 3, renormalise: true },
    );
    await step.run();
    const got = { outputs: [numbersOf(await step.read(y), 'f32', y.shape)], buffers: {} };
    checkOutcome(moe, sample, got, define(moe, sample));
  });

/** The mixture as one op, and stacks made of parts, in every dense format. */
export const moeFused: Suite = (lab) => {
  if (!lab.backend.moeFused) return [];
  return [
    ...[...moe.samples(), ...generate('moe', lab.seed)].map((sample) => moeCase(lab, suite, sample)),
    ...denseFormats.map(stacked),
  ];
};
