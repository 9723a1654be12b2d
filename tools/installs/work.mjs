// A folder for everything that one run of tools/installs.mjs makes, and the running of programs in it.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const work = mkdtempSync(join(tmpdir(), 'quern-installs-'));
const files = new URL('./files/', import.meta.url).pathname;
const limit = 600_000; // ms; registries may be slow

/** Caches of the package managers, empty: others may hold other packages of these versions. npm's knows packages by their hashes. */
const caches = {
  YARN_CACHE_FOLDER: join(work, 'yarn-cache'),
  BUN_INSTALL_CACHE_DIR: join(work, 'bun-cache'),
  DENO_DIR: join(work, 'deno-cache'),
  npm_config_cache: process.env.npm_config_cache ?? join(process.env.HOME ?? work, '.npm'),
};

/** Certificates of a company's network, for programs that do not read Node's variable. */
const { PATH, NODE_EXTRA_CA_CERTS: certificates } = process.env;
const trusted = certificates && {
  NODE_EXTRA_CA_CERTS: certificates,
  DENO_CERT: certificates,
  SSL_CERT_FILE: certificates,
};

/** Runs a program with a home folder of its own. @throws the error of execFile, with `stdout` and `stderr` */
export async function run(command, args, { cwd = work, env = {} } = {}) {
  const home = join(work, 'home');
  mkdirSync(home, { recursive: true });
  const own = { PATH, HOME: home, ...caches, ...trusted, npm_config_update_notifier: 'false', CI: 'true' };
  const options = { cwd, env: { ...own, ...env }, maxBuffer: 1 << 26, timeout: limit };
  return promisify(execFile)(command, args, options);
}

/** A new project: package.json with the dependencies, and copies of files/. Returns its folder. */
export function project(name, { dependencies = {}, copied = [], manifest = {} } = {}) {
  const folder = join(work, name);
  mkdirSync(folder, { recursive: true });
  for (const file of copied) cpSync(join(files, file), join(folder, file), { recursive: true });
  const own = { name: name.replaceAll('/', '-'), private: true, ...manifest, dependencies };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(own, null, 2));
  return folder;
}

/** `{ name: version }` for package.json. */
export const anyVersion = (...names) => Object.fromEntries(names.map((name) => [name, '*']));

/** Installs with npm what package.json names. @param more packages that it does not name */
export const npmInstall = (cwd, origin, more = []) =>
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...more], {
    cwd,
    env: { npm_config_registry: origin },
  });

/** `project`, installed by npm. Returns its folder. */
export async function installed(name, origin, contents) {
  const folder = project(name, contents);
  await npmInstall(folder, origin);
  return folder;
}

/** How the demo model goes on after 'Once upon a time': with 8-bit activations, and with those in float, as scalar code has them. */
export const story = /^, in the (?:little|sleepy) village of Far\b/m;

/** An act that runs at its first call; later calls have its result. */
export function once(act) {
  let result;
  return () => {
    result ??= act();
    return result;
  };
}
