import { type ChildProcess, fork, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  /** Resolves once stdout is at least this long. */
  printed(length: number): Promise<void>;
  /** Resolves once stderr matches, with the match, or the process has ended. */
  said(pattern: RegExp): Promise<RegExpExecArray | null>;
  interrupt(): void;
  kill(signal: NodeJS.Signals): void;
  /** Closes the reading end of the process's stdout. */
  stopReading(): void;
  readonly finished: Promise<Finished>;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Standard input stays open after `input`. */
  readonly open?: boolean;
  /** The working directory. */
  readonly cwd?: string;
  /** Another copy of the command instead of the built one. */
  readonly script?: string;
}

/** Starts the built command; needs `nx build quern`. */
export function start(
  args: readonly string[],
  input = '',
  { env = {}, open = false, cwd = process.cwd(), script = cli }: StartOptions = {},
): Started {
  if (!existsSync(script)) throw new Error(`${script} is missing: build it with nx build quern`);
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    cwd,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {}).write(input);
  if (!open) child.stdin.end();
  const finished = new Promise<Finished>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  const printed = async (length: number) => {
    while (stdout.length < length && child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const said = async (pattern: RegExp) => {
    while (!pattern.test(stderr) && child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 5));
    return pattern.exec(stderr);
  };
  return {
    printed,
    said,
    interrupt: () => child.kill('SIGINT'),
    kill: (signal) => child.kill(signal),
    stopReading: () => child.stdout.destroy(),
    finished,
  };
}

let shared: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

afterAll(() => {
  shared?.kill();
});

function startShared(): ChildProcess {
  const child = fork(fileURLToPath(new URL('./shared-process.mjs', import.meta.url)), { execArgv: [] });
  return child.once('exit', () => {
    shared = undefined; // the next command starts another
  });
}

const runShared = (args: readonly string[], input: string, { env = {}, cwd }: StartOptions) =>
  new Promise<Finished>((resolve, reject) => {
    shared ??= startShared();
    const child = shared;
    const fail = (code: number | null) => reject(new Error(`the process of the commands ended with ${code}`));
    child.once('exit', fail);
    child.once('message', (finished) => {
      child.off('exit', fail);
      resolve(finished as Finished);
    });
    child.send({ args, input, env, cwd: cwd ?? process.cwd() });
  });

/** Runs a command to its end, in a process shared by the commands of a test file; `script` has one of its own. */
export function quern(args: readonly string[], input = '', options: StartOptions = {}): Promise<Finished> {
  if (options.script !== undefined || options.open) return start(args, input, options).finished;
  const run = last.then(() => runShared(args, input, options));
  last = run.catch(() => {});
  return run;
}
