import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeSyntheticModel } from '../../packages/runtime/dist/index.js';

/** The file of a shape with random weights; makes it if missing. */
export async function modelFile(folder, shape, format) {
  const path = join(folder, `${shape}-${format}.gguf`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  console.error(`making ${path} …`);
  await makeSyntheticModel(path, { shape, format });
  return path;
}
