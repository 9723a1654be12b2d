import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder of test data beside the repository. */
const root = resolve(import.meta.dirname, '../../../../shared/data');

/** A path in the shared test data. */
export const shared = (...parts: string[]) => join(root, ...parts);

/** A `describe` that runs only if the shared folder exists; otherwise prints a message and skips. */
export function describeShared(folder: string, body: () => void): void {
  if (existsSync(shared(folder))) describe(folder, body);
  else describe.skip(`${folder} (../shared/data/${folder} is absent)`, () => test('skipped', () => {}));
}

export const readShared = (...parts: string[]) => readFileSync(shared(...parts), 'utf8');
