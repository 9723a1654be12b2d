import { bf16ToF32, elements, f32ToBf16, type HostBuffer, type KernelMemory } from '@quern/core';

/** A tensor rounded to bf16, still in f32. A bf16 tensor stays unchanged. */
export function roundOperand(tensor: KernelMemory): KernelMemory {
  if (tensor.dtype !== 'f32') return tensor;
  const values = Float32Array.from(elements(tensor), (value) => bf16ToF32(f32ToBf16(value)));
  return { ...tensor, byteOffset: 0, buffer: { id: -1, bytes: values.buffer } as HostBuffer };
}
