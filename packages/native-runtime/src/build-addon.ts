import { spawnSync } from 'node:child_process';
import { delimiter, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A package's program that compiles its addon. */
export interface BuildProgram {
  /** For the usage line: 'quern-backend-cpu'. */
  readonly name: string;
  /** URL of the program's module, which lies in a folder of the package. */
  readonly url: string;
}

const tools = ['cmake-js@8', 'node-addon-api@8', 'node-api-headers@1'];

/** Runs a command to its end. Returns its exit code. */
function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): number {
  const { status, error } = spawnSync(command, args, {
    stdio: 'inherit',
    env: { ...process.env, ...env },
    shell: process.platform === 'win32',
  });
  if (error) console.error(`${command} could not be started: ${error.message}`);
  return status ?? 1;
}

/**
 * `npx quern-backend-cpu build [cmake-js options]`: compiles the addon of a package on this machine. cmake-js and the
 * headers are fetched only now, so an ordinary install stays small. Returns the exit code.
 * @param args of the command line: 'build' fetches the tools and runs the program again with 'build-here'
 */
export function buildAddon({ name, url }: BuildProgram, args: readonly string[]): number {
  const [task, ...options] = args;
  const program = fileURLToPath(url);
  if (task === 'build') {
    const packages = tools.map((tool) => `--package=${tool}`);
    return run('npx', ['--yes', ...packages, '--', 'node', program, 'build-here', ...options]);
  }
  if (task === 'build-here') {
    const [bin = ''] = (process.env.PATH ?? '').split(delimiter); // npx puts <its cache>/node_modules/.bin first
    const folder = resolve(dirname(program), '..');
    return run('cmake-js', ['build', '-d', folder, ...options], { NODE_PATH: dirname(bin) });
  }
  console.error(`usage: ${name} build [cmake-js options]`);
  return 2;
}
