import { realpathSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf, RuntimeError } from '../error.js';
import { here } from '../here.js';
import { readManifest } from './application.js';

/** Whether this is the CommonJS build, dist/index.cjs. */
const isCommonJs = here.endsWith('.cjs');

/** The path that "exports" gives under a condition: './index.js', or of {"import": {"default": "./index.js"}}. */
function targetOf(entry: unknown, condition: 'import' | 'require'): string | undefined {
  if (typeof entry === 'string') return entry;
  if (typeof entry !== 'object' || entry === null) return undefined;
  const match = Object.entries(entry).find(([name]) => [condition, 'node', 'default'].includes(name));
  return match && targetOf(match[1], condition);
}

/**
 * The file that `require` takes for a module of a package: the module itself if it is CommonJS, else what "exports" gives
 * to `require` where it gives the module to `import`. Undefined: there is none.
 */
export function commonJsForm(folder: string, path: string): string | undefined {
  const manifest = readManifest(folder);
  const isCommonJsFile = (file: string) =>
    file.endsWith('.cjs') || (file.endsWith('.js') && manifest !== undefined && manifest.type !== 'module');
  const isModule = (file: string | undefined) => file !== undefined && join(file) === join(path);
  const exports = manifest?.exports ?? {};
  const entries = typeof exports === 'object' && '.' in exports ? Object.values(exports) : [exports];
  const target = targetOf(
    entries.find((entry) => isModule(targetOf(entry, 'import'))),
    'require',
  );
  return [path, target].find((file) => file !== undefined && isCommonJsFile(file));
}

/**
 * Imports a module of a package that was found through its package.json. Of a link it takes the real file, as Node does:
 * Deno finds the package's own dependencies only from there. The CommonJS build requires the module's CommonJS form: that
 * works where `import()` does not (Jest), and shares one copy of @quern/core with it.
 * @throws RuntimeError BACKEND_FAILED where an import of a package of Quern fails; else what the module throws
 */
export async function importModule(folder: string, path: string): Promise<unknown> {
  try {
    const form = isCommonJs ? commonJsForm(folder, path) : undefined;
    const file = realpathSync(join(folder, form ?? path));
    if (form !== undefined) return module.createRequire(file)(file);
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ pathToFileURL(file).href);
  } catch (cause) {
    const text = brokenImport(messageOf(cause), folder);
    throw text === undefined ? cause : new RuntimeError('BACKEND_FAILED', text, { cause });
  }
}

/** How Node, Deno, Bun and Yarn say that an import found no package, or no export. */
const noPackage =
  /(?:Cannot find (?:package|module)|Could not find package|tried to access) ['"]?(@quern\/[\w-]+)/;
const noExport = /(@quern\/[\w-]+)['"/].*export named '(\w+)'|export named '(\w+)'.*(@quern\/[\w-]+)/i;

/** What a failed import of a package of Quern means, and the cure. */
function brokenImport(message: string, folder: string): string | undefined {
  const missing = noPackage.exec(message)?.[1];
  if (missing)
    return `it needs ${missing} beside it. To add it: npm install ${missing} (yarn add, pnpm add, deno add npm:${missing}). ${message.split('\n')[0]}`;
  const [, first, name, named = name, owner = first] = noExport.exec(message) ?? [];
  if (owner === undefined) return undefined;
  const version = versionSeenFrom(folder, owner);
  return `${owner}${version} has no export '${named}', which it imports: their versions do not fit together. Update ${owner} and this package to their newest releases`;
}

/** ' 0.1.0', or '' where the package does not tell. */
function versionSeenFrom(folder: string, name: string): string {
  try {
    const { version } = module.createRequire(join(realpathSync(folder), 'package.json'))(
      `${name}/package.json`,
    );
    return ` ${version}`;
  } catch {
    return '';
  }
}
