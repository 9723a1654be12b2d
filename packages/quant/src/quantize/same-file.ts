import type { BigIntStats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { QuantizeError } from './error.js';

/** @throws QuantizeError SAME_FILE if `output` is one of the inputs under any name. */
export async function checkDistinct(output: string, inputs: Iterable<string>): Promise<void> {
  const existing = await identityOf(output).catch(() => undefined);
  if (!existing) return;
  for (const input of inputs)
    if (isSameFile(await identityOf(input), existing))
      throw new QuantizeError('SAME_FILE', `${output} is an input (${input}): write to another file`);
}

/** As bigints: Windows' numbers of files have 64 bits, of which a double rounds away 11. */
const identityOf = (path: string): Promise<BigIntStats> => stat(path, { bigint: true });

export const isSameFile = (
  a: Pick<BigIntStats, 'dev' | 'ino'>,
  b: Pick<BigIntStats, 'dev' | 'ino'>,
): boolean => a.dev === b.dev && a.ino === b.ino;
