import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The packages of Quern beside `quern` and the runtime. */
const all = [
  'backend-cpu',
  'conformance',
  'core',
  'demo-model',
  'grammar',
  'hub',
  'models',
  'native-runtime',
  'quant',
  'server',
];

const packages = fileURLToPath(new URL('../../', import.meta.url));

/** Copies a built package without its development files. */
function copyBuilt(folder: string, home: string): void {
  const { devDependencies: _, ...published } = JSON.parse(
    readFileSync(join(packages, folder, 'package.json'), 'utf8'),
  );
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), JSON.stringify(published));
  cpSync(join(packages, folder, 'dist'), join(home, 'dist'), { recursive: true });
}

/** Names of a package's dependencies outside of this repository. */
function foreignDependencies(folder: string): string[] {
  const { dependencies } = JSON.parse(readFileSync(join(packages, folder, 'package.json'), 'utf8'));
  return Object.keys(dependencies).filter((name) => !name.startsWith('@quern/'));
}

function link(target: string, modules: string, name: string): void {
  mkdirSync(dirname(join(modules, name)), { recursive: true });
  symlinkSync(target, join(modules, name));
}

/**
 * The command as npm installs it, with its dependencies only: without @quern/backend-reference, and without `leftOut`.
 * `copied`: packages without what is built of them for this machine alone.
 */
export function installCommand(
  leftOut: readonly string[] = [],
  copied: readonly string[] = [],
): {
  readonly folder: string;
  readonly script: string;
} {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'quern-installed-')));
  const modules = join(folder, 'node_modules');
  copyBuilt('cli', join(modules, 'quern'));
  copyBuilt('runtime', join(modules, '@quern/runtime'));
  for (const name of all.filter((each) => !leftOut.includes(each)))
    if (copied.includes(name)) copyBuilt(name, join(modules, '@quern', name));
    else symlinkSync(join(packages, name), join(modules, '@quern', name));
  for (const from of ['cli', 'runtime'])
    for (const name of foreignDependencies(from))
      link(join(packages, from, 'node_modules', name), modules, name);
  return { folder, script: join(modules, 'quern/dist/cli.js') };
}
