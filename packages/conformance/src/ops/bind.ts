import {
  type AnyOp,
  type Backend,
  cacheRow,
  type DType,
  elementCount,
  type KvBuffer,
  type KvSpec,
  type OperandValue,
  type Step,
  type Tensor,
  type Weight,
} from '@quern/core';
import { bufferValues, bytesOf, hostValues, type Operand, type Operands } from '../values/numbers.js';

/** Operands on a backend, ready for recording. */
export interface Bound {
  readonly values: Readonly<Record<string, OperandValue>>;
  readonly tensors: Readonly<Record<string, Tensor>>;
  readonly buffers: Readonly<Record<string, KvBuffer>>;
  dispose(): void;
}

/** How tensor operands reach the op: as separate inputs, or as rows inside a larger tensor. */
export type Binding = 'whole' | 'sliced';

export function loadOperand(backend: Backend, name: string, operand: Operand): Promise<Weight> {
  const { shape, format } = operand;
  return backend.loadWeight({ name, shape, format, bytes: operand.bytes ?? bytesOf(hostValues(operand)) });
}

/** The cache of an operand [blocks, blockSize, Hk, d or d + 4]. */
export function kvSpecOf({ shape, format }: Operand): KvSpec {
  const [blocks, blockSize, heads, row] = shape as [number, number, number, number];
  const dtype = format as DType;
  return { blocks, blockSize, heads, headDim: row - cacheRow(dtype, 0), dtype };
}

/** NaN in every floating dtype; out of range as any index. */
const junk = 0x7fffffff;

/** The tensor as rows 2 … of a larger tensor; all other rows are junk. */
function sliceInput(backend: Backend, step: Step, { shape, format, values }: Operand): Tensor {
  const [rows = 0, ...rest] = shape;
  const width = elementCount(rest);
  const host = hostValues({ shape, format, values });
  const larger = hostValues({ shape, format, values: new Float64Array((rows + 3) * width) });
  new Int32Array(larger.buffer, 0, larger.byteLength >> 2).fill(junk);
  larger.set(host, 2 * width);
  const whole = step.input(larger, [rows + 3, ...rest], format as DType);
  return backend.slice(whole, 2, 2 + rows);
}

function bindTensor(backend: Backend, step: Step, operand: Operand, binding: Binding): Tensor {
  if (binding === 'sliced') return sliceInput(backend, step, operand);
  return step.input(hostValues(operand), operand.shape, operand.format as DType);
}

async function bindBuffer(backend: Backend, operand: Operand): Promise<KvBuffer> {
  const buffer = backend.kvBuffer(kvSpecOf(operand));
  await buffer.writeBlocks(0, bytesOf(bufferValues(operand)));
  return buffer;
}

/** Loads weights, fills buffers, makes inputs. */
export async function bind(
  backend: Backend,
  step: Step,
  op: AnyOp,
  operands: Operands,
  binding: Binding = 'whole',
): Promise<Bound> {
  const tensors: Record<string, Tensor> = {};
  const buffers: Record<string, KvBuffer> = {};
  const weights: Record<string, Weight> = {};
  const loaded: Record<string, Weight> = {};
  for (const [name, operand] of Object.entries(operands)) {
    const kind = op.operands[name]?.kind;
    if (operand.loaded) loaded[name] = operand.loaded;
    else if (kind === 'weight') weights[name] = await loadOperand(backend, name, operand);
    else if (kind === 'buffer') buffers[name] = await bindBuffer(backend, operand);
    else tensors[name] = bindTensor(backend, step, operand, binding);
  }
  const dispose = () => {
    for (const held of [...Object.values(weights), ...Object.values(buffers)]) held.dispose();
  };
  return { values: { ...tensors, ...buffers, ...weights, ...loaded }, tensors, buffers, dispose };
}
