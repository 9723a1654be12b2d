import { elementCount, type HostBuffer, type KernelMemory, type KernelWeight } from '@quern/core';
import type { PlainWeight } from './weight.js';

const bytesOf = ({ buffer }: KernelMemory) => (buffer as HostBuffer).bytes;

/** The elements of an f32 tensor (in place) or of a weight. */
export function floats(operand: KernelMemory | KernelWeight): Float32Array {
  if (operand.kind === 'weight') return (operand.weight as PlainWeight).values;
  return new Float32Array(bytesOf(operand), operand.byteOffset, elementCount(operand.shape));
}

/** The elements of an i32 tensor (in place). */
export function integers(operand: KernelMemory | KernelWeight): Int32Array {
  if (operand.kind === 'weight') throw new TypeError('a weight holds no integers');
  return new Int32Array(bytesOf(operand), operand.byteOffset, elementCount(operand.shape));
}
