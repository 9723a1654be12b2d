import { stat } from 'node:fs/promises';
import { QuantizeError } from './error.js';

/** @throws QuantizeError SAME_FILE if `output` is one of the inputs under any name. */
export async function checkDistinct(output: string, inputs: Iterable<string>): Promise<void> {
  const existing = await stat(output).catch(() => undefined);
  if (!existing) return;
  for (const input of inputs) {
    const { dev, ino } = await stat(input);
    if (dev === existing.dev && ino === existing.ino)
      throw new QuantizeError('SAME_FILE', `${output} is an input (${input}): write to another file`);
  }
}
