import {
  as,
  denseFormats,
  fusedOps,
  type MoeFused,
  moeOperands,
  normal,
  type WeightSource,
} from '@quern/core';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { checkOutcome, define, type OpCase } from '../ops/expect.js';
import { floats, fresh } from '../ops/fresh.js';
import { generate } from '../ops/generate.js';
import { recordItself } from '../ops/run-op.js';
import { bytesOf, hostValues, numbersOf, type Operand } from '../values/numbers.js';
import { refusal } from '../values/refusal.js';
import { proveUsable } from './errors.js';
import { fusedCase } from './fused.js';

const suite = 'moeFused';
const on = fresh(suite);
const { moe } = fusedOps;
const direct = recordItself(moe);

/** The op itself, against its definition and against the plain ops. */
export const moeCase = (lab: Lab, of: string, sample: OpCase): Case =>
  fusedCase(lab, of, 'moe', sample, direct);

/** The matrices of a stack [E, N, K], as sources of their own. */
function apart(name: string, stack: Operand): WeightSource[] {
  const [E, N, K] = stack.shape as [number, number, number];
  const values = Array.from(stack.values);
  return Array.from({ length: E }, (_, e) => {
    const matrix = { shape: [N, K], format: stack.format, values: values.slice(e * N * K, (e + 1) * N * K) };
    const { shape, format } = matrix;
    return { name: `${name}.${e}`, shape, format, bytes: bytesOf(hostValues(matrix)) };
  });
}

/** Stacks made of parts, and the call that models write. */
const stacked = (format: string): Case =>
  on(`moe of ${format} stacks that loadExperts made`, async (backend) => {
    const { x, router, gate, up, down, residual } = moeOperands(7, [5, 24, 6, 17], 3);
    const sample: OpCase = {
      name: '',
      operands: { x, router, gate: as(format, gate), up: as(format, up), down: as(format, down), residual },
      attributes: { chosen: 3, renormalise: 1 },
    };
    const { loadExperts, moe: record } = backend.moeFused!;
    const stack = (name: 'gate' | 'up' | 'down') => loadExperts(apart(name, sample.operands[name]!));
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

const source = (name: string, shape: readonly number[]): WeightSource => ({
  name,
  shape,
  format: 'f32',
  bytes: bytesOf(floats(...Array.from(normal(1, shape).values))),
});

const refuses = (name: string, code: 'BAD_ARGUMENT' | 'BAD_WEIGHT', sources: readonly WeightSource[]): Case =>
  on(`loadExperts refuses ${name}`, async (backend) => {
    await refusal(code, () => (backend.moeFused as MoeFused).loadExperts(sources));
    await proveUsable(backend);
  });

/** The mixture as one op, stacks made of parts, and what is refused. */
export const moeFused: Suite = (lab) => {
  if (!lab.backend.moeFused) return [];
  return [
    ...[...moe.samples(), ...generate('moe', lab.seed)].map((sample) => moeCase(lab, suite, sample)),
    ...denseFormats.map(stacked),
    refuses('no matrices', 'BAD_ARGUMENT', []),
    refuses('matrices of two shapes', 'BAD_WEIGHT', [source('a', [4, 8]), source('b', [8, 4])]),
    refuses('a vector', 'BAD_WEIGHT', [source('a', [8])]),
    refuses('too few bytes', 'BAD_WEIGHT', [
      source('a', [4, 8]),
      { ...source('b', [4, 8]), bytes: new Uint8Array(127) },
    ]),
  ];
};
