// Built packages in tests: the prelude of jest.transform.mjs, and the map to the sources for stacks of errors.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { prelude, preludeVersion } from './jest.transform.mjs';

const mapOf = (path) => (existsSync(`${path}.map`) ? readFileSync(`${path}.map`, 'utf8') : null);

export default {
  getCacheKey: (code, path) =>
    createHash('sha256').update(`${preludeVersion} ${path}\0`).update(code).digest('hex'),
  process: (code, path) => ({ code: prelude(code) + code, map: mapOf(path) }),
};
