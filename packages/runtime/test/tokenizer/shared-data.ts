import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../../shared/data/', import.meta.url));

export const shared = (path: string): string => root + path;
export const sharedText = (path: string): string => readFileSync(shared(path), 'utf8');

/** `test`, skipped with a message if the shared test data is absent. */
export const testWithShared = existsSync(root)
  ? test
  : (name: string) => test.skip(`${name} (needs ../shared/data)`, () => {});
