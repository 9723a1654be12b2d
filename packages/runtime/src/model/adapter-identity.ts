import { createHash } from 'node:crypto';
import { yieldToEventLoop } from '@quern/core';
import type { Adapter, DenseMatrix } from '@quern/models';

/** Bytes hashed in one turn of the event loop: below 4 ms. */
const turnBytes = 1 << 20;

/**
 * What an adapter changes of keys and values, but for its scale, as 64 hexadecimal digits. It is read whole: an adapter is small, and
 * its matrices lie in memory.
 */
export async function adapterIdentity({ pairs }: Adapter): Promise<string> {
  const hash = createHash('sha256');
  for (const { layer, field, factor, a, b } of pairs) {
    hash.update(JSON.stringify([layer, field, factor, formOf(a), formOf(b)]));
    for (const { bytes } of [a, b])
      for (let at = 0; at < bytes.length; at += turnBytes) {
        hash.update(bytes.subarray(at, at + turnBytes));
        await yieldToEventLoop();
      }
  }
  return hash.digest('hex');
}

const formOf = ({ shape, format }: DenseMatrix) => [shape, format];
