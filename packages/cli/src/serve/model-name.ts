import { existsSync } from 'node:fs';
import { basename } from 'node:path';

/** The name of a model for clients: that of its file or folder without '.gguf' and '-00001-of-00003', numbered where it is taken. */
export function modelName(path: string, taken: Readonly<Record<string, unknown>>): string {
  const name = basename(path).replace(/(-\d{5}-of-\d{5})?\.gguf$/i, '') || 'model';
  if (!Object.hasOwn(taken, name)) return name;
  let number = 2;
  while (Object.hasOwn(taken, `${name}-${number}`)) number++;
  return `${name}-${number}`;
}

/** A model to serve. */
export interface NamedPath {
  readonly name: string;
  readonly path: string;
}

/** As clients may write it in a URL. */
const isNamed = /^([\w.:/@-]+)=(.+)$/s;

/**
 * The models of the arguments: `path`, or `name=path`. A file whose own name has a `=` is a path.
 * @param fault called with what is wrong; it does not return
 */
export function namedPaths(given: readonly string[], fault: (message: string) => never): NamedPath[] {
  const taken: Record<string, string> = {};
  const split = given.map((text) => {
    const [, name, path] = existsSync(text) ? [] : (isNamed.exec(text) ?? []);
    return { name, path: path ?? text };
  });
  for (const { name, path } of split) {
    if (name === undefined) continue;
    if (Object.hasOwn(taken, name)) fault(`two models are named '${name}': give each a name of its own`);
    taken[name] = path;
  }
  return split.map(({ name: own, path }) => {
    const name = own ?? modelName(path, taken);
    taken[name] = path;
    return { name, path };
  });
}
