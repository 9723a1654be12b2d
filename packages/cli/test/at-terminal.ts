import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

/** util-linux's `script` provides a terminal. */
const hasTerminal =
  process.platform === 'linux' && /util-linux/.test(String(spawnSync('script', ['--version']).stdout));
if (!hasTerminal) console.warn('tests at a terminal are skipped: there is no `script` of util-linux');
/** A test that needs a terminal. */
export const atTerminal = hasTerminal ? test : test.skip;

export interface Opened {
  /** Waits for a text after the last found one. */
  waitFor(text: string): Promise<void>;
  type(text: string): void;
  readonly finished: Promise<number | null>;
  /** All that the terminal has shown. */
  shown(): string;
}

export interface TerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly cwd?: string;
}

/** A command at a terminal. */
export function open(args: string, { env = {}, columns = 80, cwd }: TerminalOptions = {}): Opened {
  const command = `stty cols ${columns} rows 24; ${process.execPath} ${cli} ${args}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], { env: { ...process.env, ...env }, cwd });
  let shown = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  child.stdin.on('error', () => {});
  const finished = new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  const waitFor = async (text: string) => {
    for (let waits = 0; !shown.includes(text, seen) && child.exitCode === null && waits < 6000; waits++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    if (!shown.includes(text, seen)) child.kill();
    if (!shown.includes(text, seen)) throw new Error(`'${text}' did not come: ${shown}`);
    seen = shown.indexOf(text, seen) + text.length;
  };
  return { waitFor, type: (text) => child.stdin.write(text), finished, shown: () => shown };
}
