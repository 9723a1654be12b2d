import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { FileError } from './error.js';

/** As here.ts. Tools that trace an application's files see paths only if all parts stand in one file. */
const here = import.meta.url ? fileURLToPath(import.meta.url) : __filename;

/**
 * Scripts of threads: always the built files, which Node can read. dist/ and src/ are both one folder above this
 * module.
 */
export const encodeWorker = (): URL =>
  script('encode-worker.js', resolve(here, '../../dist/encode-worker.js'));
export const decodeWorker = (): URL =>
  script('decode-worker.js', resolve(here, '../../dist/decode-worker.js'));

/** In a bundle: the file in the installed package. Throws FileError NOT_FOUND. */
function script(name: string, own: string): URL {
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
    const manifest = module.createRequire(here).resolve('@quern/quant/package.json');
    return resolve(dirname(manifest), 'dist', name);
  } catch {
    return undefined;
  }
}
