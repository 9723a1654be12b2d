import { basename } from 'node:path';

/** The name of a model for clients: that of its file or folder without '.gguf', numbered where it is taken. */
export function modelName(path: string, taken: Readonly<Record<string, unknown>>): string {
  const name = basename(path).replace(/\.gguf$/i, '') || 'model';
  if (!Object.hasOwn(taken, name)) return name;
  let number = 2;
  while (Object.hasOwn(taken, `${name}-${number}`)) number++;
  return `${name}-${number}`;
}
