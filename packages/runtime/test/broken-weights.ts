import { copyFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { openGguf } from '@quern/quant';

/** Copies a GGUF model; the first element of one f32 tensor becomes `value`. */
export async function breakWeights(
  path: string,
  { to, tensor, value }: { readonly to: string; readonly tensor: string; readonly value: number },
): Promise<string> {
  const found = (await openGguf(path)).tensors.find(({ name }) => name === tensor);
  if (found?.format !== 'f32') throw new Error(`${path} has no f32 tensor ${tensor}`);
  copyFileSync(path, to);
  await using file = await open(to, 'r+');
  await file.write(new Uint8Array(Float32Array.of(value).buffer), 0, 4, found.offset);
  return to;
}
