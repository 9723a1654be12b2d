import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../../../shared/data');

/** A path in the shared test data. */
export const shared = (...parts: string[]) => join(root, ...parts);

/** A `describe` that is skipped, with a message, if the shared folder is absent. */
export function describeShared(folder: string, title: string, body: () => void): void {
  if (existsSync(shared(folder))) describe(title, body);
  else describe.skip(`${title} (../shared/data/${folder} is absent)`, () => test('skipped', () => {}));
}

/** Token sequences and transformers' logits for every position: [sequence][position][token]. */
export interface Goldens {
  readonly sequences: readonly (readonly number[])[];
  readonly logits: readonly (readonly (readonly number[])[])[];
}

export const readJson = (...parts: string[]) => JSON.parse(readFileSync(shared(...parts), 'utf8'));
export const goldens = (name: string): Goldens => readJson('tiny-hf', name);
