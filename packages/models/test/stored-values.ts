import { closeSync, openSync, readSync } from 'node:fs';
import { f16ToF32 } from '@quern/core';
import type { FileTensor } from '../src/weights/file-tensor.js';

/** The values of a tensor of f32 or f16. */
export function valuesOf({
  bytes: { path, offset, byteLength },
  format,
}: FileTensor): Float32Array<ArrayBuffer> {
  const bytes = new Uint8Array(byteLength);
  const file = openSync(path, 'r');
  readSync(file, bytes, 0, byteLength, offset);
  closeSync(file);
  if (format === 'f32') return new Float32Array(bytes.buffer);
  if (format !== 'f16') throw new Error(`${path}: a tensor is ${format}`);
  return Float32Array.from(new Uint16Array(bytes.buffer), f16ToF32);
}
