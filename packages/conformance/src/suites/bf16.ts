import {
  type AnyOp,
  type Backend,
  coreOps,
  elementCount,
  fusedOps,
  type OpSupport,
  recordOp,
  type SampleOperand,
  type Tensor,
  type Weight,
} from '@quern/core';
import { normal } from '@quern/core/testing';
import type { Case, Suite } from '../case.js';
import type { Lab } from '../lab.js';
import { loadOperand } from '../ops/bind.js';
import { beyondClaim } from '../ops/claim.js';
import { type OpCase, type Outcome, specsOf } from '../ops/expect.js';
import { type RecordCase, runCase } from '../ops/run-op.js';
import { compare, exact } from '../values/compare.js';
import { ensure } from '../values/refusal.js';

const suite = 'bf16';
const samplesOfOp = 3;

/** Ops that make a tensor of the same shape as another: an op that stores bf16 runs before each op that rounds. */
const writers: Readonly<Record<string, (backend: Backend, x: Tensor) => Tensor>> = {
  scale: (backend, x) => backend.scale(x, 1.5),
  silu: (backend, x) => backend.silu(x),
  gelu: (backend, x) => backend.gelu(x),
  tanh: (backend, x) => backend.tanh(x),
  add: (backend, x) => backend.add(x, x),
  mul: (backend, x) => backend.mul(x, x),
  swiglu: (backend, x) => backend.swiglu(x, x),
  geglu: (backend, x) => backend.geglu(x, x),
};

const allOps: readonly AnyOp[] = [...Object.values(coreOps), ...Object.values(fusedOps)];

/** The operands, with every matrix and cache in one format. */
function inFormat(op: AnyOp, operands: OpCase['operands'], format: string): OpCase['operands'] {
  const changed = ([name, operand]: [string, SampleOperand]): [string, SampleOperand] => {
    const kind = op.operands[name]!.kind;
    const rounds = kind === 'buffer' || (kind === 'weight' && operand.shape.length > 1);
    return [name, rounds ? { ...operand, format } : operand];
  };
  return Object.fromEntries(Object.entries(operands).map(changed));
}

/** The claimed samples of an op in a format. */
const samplesIn = (lab: Lab, op: AnyOp, format: string): readonly OpCase[] =>
  op
    .samples()
    .map((sample) => ({ ...sample, operands: inFormat(op, sample.operands, format) }))
    .filter(({ operands }) => !beyondClaim(op, lab.support(op.name), operands))
    .slice(0, samplesOfOp);

interface Measured {
  readonly outcome: Outcome;
  readonly arenaBytes: number;
}

/** Runs a case; also returns the bytes of its temporaries. */
async function measure(
  lab: Lab,
  op: AnyOp,
  sample: OpCase,
  bf16: boolean,
  record: Recording,
): Promise<Measured> {
  const backend = await lab.reused({ fuse: false, bf16Temporaries: bf16 });
  const weights: Weight[] = [];
  try {
    const prepared = await record(backend, weights);
    let arenaBytes = 0;
    const outcome = await runCase(backend, op, sample, (step, ...rest) => {
      const tensors = prepared(step, ...rest);
      for (const tensor of tensors) step.keep(tensor);
      arenaBytes = step.memory().arenaBytes;
      return tensors;
    });
    return { outcome, arenaBytes };
  } finally {
    for (const weight of weights) weight.dispose();
  }
}

/** Loads the extra weights of a case into `weights`. */
type Recording = (backend: Backend, weights: Weight[]) => Promise<RecordCase>;

/** Proves the same bits with temporaries as bf16 and as f32. Returns the bytes saved. */
async function proveSame(lab: Lab, op: AnyOp, sample: OpCase, record: Recording): Promise<number> {
  const wide = await measure(lab, op, sample, false, record);
  const narrow = await measure(lab, op, sample, true, record);
  const label = `${sample.name}, with temporaries as bf16: `;
  narrow.outcome.outputs.forEach((got, i) => compare(`${label}y`, got, wide.outcome.outputs[i]!, exact));
  for (const [name, got] of Object.entries(narrow.outcome.buffers))
    compare(label + name, got, wide.outcome.buffers[name]!, exact);
  return wide.arenaBytes - narrow.arenaBytes;
}

/** Proves that all samples give the same bits, and that some temporary was stored as bf16. */
async function proveAll(
  lab: Lab,
  op: AnyOp,
  samples: readonly OpCase[],
  recording: (sample: OpCase) => Recording,
): Promise<void> {
  let saved = 0;
  for (const sample of samples) saved += await proveSame(lab, op, sample, recording(sample));
  ensure(saved > 0, `temporaries as bf16 should take fewer bytes than as f32; they take ${-saved} more`);
}

/** The operand is a temporary made by `write`. */
const reading =
  (operand: string, write: (typeof writers)[string]): ((op: AnyOp) => Recording) =>
  (op) =>
  async (backend) =>
  (step, { values }, { attributes }) => {
    const x = write(backend, values[operand] as Tensor);
    return recordOp(step, op, { ...values, [operand]: x }, attributes);
  };

const features = 5;

/** Each f32 output goes into a product that rounds it. */
const writing =
  (format: string, shapes: readonly (readonly number[])[]): ((op: AnyOp) => Recording) =>
  (op) =>
  async (backend, weights) => {
    const width = (shape: readonly number[]) => shape[shape.length - 1] ?? 1;
    for (const [i, shape] of shapes.entries())
      weights.push(await loadOperand(backend, 'w', { ...normal(i, [features, width(shape)]), format }));
    return (step, { values }, { attributes }) => {
      const outputs = recordOp(step, op, values, attributes);
      return outputs.map((y, i) => {
        if (y.dtype !== 'f32') return y;
        const rows = elementCount(y.shape) / width(y.shape);
        return backend.linear(backend.view(y, [rows, width(y.shape)]), weights[i]!);
      });
    };
  };

const outputShapes = (op: AnyOp, sample: OpCase) => specsOf(op, sample).map(({ shape }) => shape);

const unproved = (name: string, why: string): Case => ({
  suite,
  name,
  async run() {
    throw new Error(`this version of the kit cannot prove it: ${why}`);
  },
});

function readers(lab: Lab, op: AnyOp, { rounds = {} }: OpSupport): readonly Case[] {
  const writer = Object.keys(writers).find((name) => lab.support(name)?.stores);
  return Object.entries(rounds).flatMap(([operand, formats]) =>
    formats.map((format): Case => {
      const name = `${op.name}: ${operand} as bf16, with ${format}`;
      if (!writer) return unproved(name, `none of ${Object.keys(writers).join(', ')} stores bf16`);
      const record = reading(operand, writers[writer]!)(op);
      return {
        suite,
        name,
        run: () => proveAll(lab, op, samplesIn(lab, op, format), () => record),
      };
    }),
  );
}

function writersOf(lab: Lab, op: AnyOp): readonly Case[] {
  const name = `${op.name}: outputs as bf16`;
  const format = lab.support('linear')?.rounds?.x?.[0];
  if (!format) return [unproved(name, 'linear does not round x')];
  const samples = op
    .samples()
    .filter(({ operands }) => !beyondClaim(op, lab.support(op.name), operands))
    .filter((sample) => outputShapes(op, sample).every((shape) => elementCount(shape) > 0))
    .slice(0, samplesOfOp);
  return [
    {
      suite,
      name,
      run: () => proveAll(lab, op, samples, (sample) => writing(format, outputShapes(op, sample))(op)),
    },
  ];
}

/** Temporaries that their readers round to bf16 are stored as bf16: half the bytes, the same bits. */
export const bf16: Suite = (lab) =>
  allOps.flatMap((op) => {
    const support = lab.support(op.name);
    if (!support) return [];
    return [...readers(lab, op, support), ...(support.stores ? writersOf(lab, op) : [])];
  });
