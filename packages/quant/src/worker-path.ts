import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FileError } from './error.js';
import { here } from './here.js';

/**
 * Scripts of threads: always the built files, which Node can read. dist/ and src/ are both one folder above this
 * module.
 */
export const encodeWorker = (): URL => script('encode-worker.js');
export const decodeWorker = (): URL => script('decode-worker.js');

/** In a bundle: the file in the installed package. Throws FileError NOT_FOUND. */
function script(name: string): URL {
  const own = resolve(here, '../../dist', name);
  const path = existsSync(own) ? own : installed(name);
  if (path !== undefined) return pathToFileURL(path);
  throw new FileError(
    'NOT_FOUND',
    own,
    'is missing; it is the script of the threads: build @quern/quant, or install it beside a bundled application',
  );
}

function installed(name: string): string | undefined {
  try {
    const manifest = createRequire(here).resolve('@quern/quant/package.json');
    return resolve(dirname(manifest), 'dist', name);
  } catch {
    return undefined;
  }
}
