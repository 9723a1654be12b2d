import {
  type DriverBuffer,
  dtypeBytes,
  elementCount,
  type HostBuffer,
  type OperandRule,
  type OperandSpec,
  regions,
  type TensorSpec,
} from '@quern/core';
import { type EncodedOp, type EncodedOperand, malformed } from './read-plan.js';
import type { PlainWeight } from './weight.js';

/** Memory of operands: buffers and weights by id, host memory by region. */
export interface Places {
  readonly buffers: ReadonlyMap<number, DriverBuffer>;
  readonly weights: ReadonlyMap<number, { readonly weight: PlainWeight; readonly shape: readonly number[] }>;
  readonly regions: Readonly<Record<number, HostBuffer>>;
}

type Range = readonly [buffer: unknown, from: number, to: number];

/** The byte range of a tensor or buffer. Throws if it is outside its memory or not aligned to an element. */
function rangeOf(operand: EncodedOperand, places: Places): Range {
  const { region, id, shape, dtype, byteOffset } = operand;
  const memory = region === regions.buffer ? places.buffers.get(id) : places.regions[region];
  if (!memory) throw malformed(`there is no buffer ${id}, or no region ${region}`);
  if (!dtype || shape.some((d) => d < 0)) throw malformed(`[${shape}] of dtype ${dtype} is no tensor`);
  const end = byteOffset + elementCount(shape) * dtypeBytes[dtype];
  const { byteLength } = (memory as HostBuffer).bytes;
  if (byteOffset < 0 || end > byteLength || byteOffset % dtypeBytes[dtype] !== 0)
    throw malformed(`bytes ${byteOffset} to ${end} of region ${region}, which has ${byteLength}`);
  return [memory, byteOffset, end];
}

/** Allowed regions per kind of operand. */
const allowed: Readonly<Record<OperandRule['kind'], readonly number[]>> = {
  tensor: [regions.arena, regions.inputs, regions.outputs],
  buffer: [regions.buffer],
  weight: [regions.weight],
};

function specOf(operand: EncodedOperand, { kind, dtypes }: OperandRule, places: Places): OperandSpec {
  const { region, id, shape, dtype } = operand;
  if (!allowed[kind].includes(region)) throw malformed(`a ${kind} in region ${region}`);
  if (kind === 'tensor' && !dtypes?.includes(dtype!)) throw malformed(`a tensor of dtype ${dtype}`);
  if (kind !== 'weight') return { shape, dtype: dtype! };
  const known = places.weights.get(id);
  if (!known) throw malformed(`there is no weight ${id}`);
  if (known.shape.join() !== shape.join())
    throw malformed(`weight ${id} has shape [${known.shape}], not [${shape}]`);
  return { shape, dtype: 'f32' };
}

function needOutput(output: EncodedOperand, { shape, dtype }: TensorSpec): void {
  if (output.region !== regions.arena && output.region !== regions.outputs)
    throw malformed(`an output in region ${output.region}`);
  if (output.shape.join() !== shape.join() || output.dtype !== dtype)
    throw malformed(`an output ${output.dtype} [${output.shape}] should be ${dtype} [${shape}]`);
}

const overlap = ([a, from, to]: Range, [b, start, end]: Range) => a === b && from < end && start < to;

/** Throws for an op that would read or write outside its operands, or whose shapes do not fit each other. */
export function checkOp({ op, attributes, operands }: EncodedOp, places: Places): void {
  const rules = Object.entries(op.operands);
  const specs: Record<string, OperandSpec> = {};
  for (const [i, [name, rule]] of rules.entries()) {
    if (operands[i]!.region !== regions.none) specs[name] = specOf(operands[i]!, rule, places);
    else if (!rule.optional) throw malformed(`${op.name} lacks ${name}`);
  }
  const outputs = operands.slice(rules.length);
  const inferred = op.infer(specs, attributes); // throws if operands do not fit each other
  outputs.forEach((output, i) => needOutput(output, inferred[i]!));
  const memories = operands.filter(({ region }) => region !== regions.none && region !== regions.weight);
  const ranges = memories.map((operand) => rangeOf(operand, places));
  const written = outputs.map((output) => ranges[memories.indexOf(output)]!);
  for (const [i, range] of written.entries())
    if (ranges.some((other, at) => memories[at] !== outputs[i] && overlap(range, other)))
      throw malformed(`an output of ${op.name} lies over another of its operands`);
}
