// Set-up of `npm start` and `npm test`: names missing tools with the command that installs them, then installs and
// builds packages. Uses only Node.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const { packageManager, engines } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url)),
);

/** Runs a command in the repository root; a failure ends this process, unless `mayFail`. */
export function run(command, args, { quiet = false, mayFail = false, env = {} } = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
    maxBuffer: 1 << 28,
  });
  if (result.status !== 0 && !mayFail) {
    if (quiet) process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
    console.error(`quern: ${[command, ...args].join(' ')} failed`);
    process.exit(result.status ?? 1);
  }
  return result;
}

const works = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0;

/** The command that installs Debian packages or Homebrew formulas; elsewhere, words. */
function install(debian, brew) {
  if (process.platform === 'darwin') return `brew install ${brew}`;
  if (existsSync('/usr/bin/apt-get')) return `sudo apt-get install ${debian}`;
  return `install ${brew} with your system's package manager`;
}

function needTools() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [wantMajor, wantMinor] = /(\d+)\.(\d+)/.exec(engines.node).slice(1).map(Number);
  const missing = [];
  if (major < wantMajor || (major === wantMajor && minor < wantMinor))
    missing.push(`Node ${engines.node} (this is ${process.versions.node}): https://nodejs.org`);
  if (!works('cmake')) missing.push(`CMake: ${install('cmake', 'cmake')}`);
  if (!works(process.env.CXX ?? 'c++')) missing.push(`a C++20 compiler: ${install('g++', 'gcc')}`);
  if (!works('make') && !works('ninja')) missing.push(`make: ${install('make', 'make')}`);
  if (missing.length === 0) return;
  for (const line of missing) console.error(`quern: missing ${line}`);
  process.exit(1);
}

const modified = (path) => (existsSync(`${root}${path}`) ? statSync(`${root}${path}`).mtimeMs : 0);

function installPackages() {
  if (modified('node_modules/.modules.yaml') > modified('pnpm-lock.yaml')) return;
  console.error('quern: installing packages …');
  run('npx', ['--yes', packageManager, 'install', '--frozen-lockfile'], { quiet: true, env: { CI: 'true' } });
}

/** nx runs the packages' scripts with pnpm; npx provides pnpm if it is not installed. */
export const nx = (args, options) =>
  run('npx', ['--yes', packageManager, 'exec', 'nx', ...args], {
    ...options,
    env: { NX_DAEMON: 'false', NX_TUI: 'false', ...options?.env },
  });

/** Installs everything; builds nothing. */
export function prepare() {
  needTools();
  installPackages();
}

/**
 * Builds TypeScript and native code of changed packages. `whole`: also the kernels that this machine cannot run, which
 * double the time: only steps that test or pack them ask for it.
 */
export function build({ whole = false } = {}) {
  console.error('quern: building …');
  const env = { QUERN_ONLY_THIS_MACHINE: String(!whole) };
  nx(['run-many', '-t', 'build', 'build-native'], { quiet: true, env });
}
