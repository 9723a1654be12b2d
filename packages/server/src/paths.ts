import { dirname, parse, resolve, sep } from 'node:path';
import type { HidesPaths } from './errors.js';
import { generators } from './offer.js';
import type { ModelPool } from './pool/pool.js';

/** Paths of this machine that errors may name: clients see models and adapters by their names. */
export class Paths implements HidesPaths {
  constructor(
    private readonly pool: ModelPool,
    private readonly adapterFolder: string | undefined,
  ) {}

  /** The message with names in place of the files of models and adapters, and without their folders. */
  hiddenIn(message: string): string {
    const { pool, adapterFolder } = this;
    const adapters = generators(pool).flatMap(([, model]) => model.adapters);
    const models = pool.models.map(({ name, facts: { path } }) => ({ name, path }));
    const named = [...models, ...adapters].flatMap(({ name, path }) => (path ? [[name, path] as const] : []));
    const folders = [...named.map(([, path]) => dirname(resolve(path))), resolve(adapterFolder ?? '/')];
    const hidden = [
      ...named.flatMap(([name, path]) => [[path, name] as const, [resolve(path), name] as const]),
      ...folders
        .filter((folder) => folder !== parse(folder).root)
        .map((folder) => [folder + sep, ''] as const),
    ];
    return hidden
      .filter(([path]) => path.includes(sep)) // the bare name of a file could be any word
      .sort(([a], [b]) => b.length - a.length)
      .reduce((text, [path, name]) => text.replaceAll(path, name), message);
  }
}
