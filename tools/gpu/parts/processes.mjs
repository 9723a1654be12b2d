// Work in processes of its own: a crash or a hang of one costs that one alone.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const endNow = () => process.kill(process.pid, 'SIGKILL');

/** A child that its parent leaves ends too, whatever its kernels do: run.sh may be stopped at any time. */
if (process.env.QUERN_GPU_CHILD === 'direct') {
  process.stdin.on('end', endNow).on('error', () => {});
  process.stdin.resume();
  process.stdin.unref?.();
}
/** A wrapper may close the input of what it runs: there the parent's number changes, to 1 where no other program adopts. */
if (process.env.QUERN_GPU_CHILD === 'wrapped') {
  const parent = process.ppid;
  setInterval(() => (parent === 1 || process.ppid !== parent) && endNow(), 500).unref();
}

const parsed = (line) => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};

/** A killed process whose kernel hangs may take long to be gone. */
const goneSeconds = 2;
const maxText = 4 << 20;

/** Stops a process after `seconds`, or after `silence` seconds without a line. `restart` begins the silence anew. */
function limits(child, { seconds, silence }, say) {
  let quiet;
  const stop = (message) => {
    say(message);
    child.kill('SIGKILL');
  };
  const whole = seconds && setTimeout(stop, 1000 * seconds, `was stopped after ${Math.round(seconds)} s`);
  const restart = () => {
    clearTimeout(quiet);
    if (silence)
      quiet = setTimeout(stop, 1000 * silence, `was stopped after ${Math.round(silence)} s of silence`);
  };
  restart();
  const clear = () => {
    clearTimeout(whole);
    clearTimeout(quiet);
  };
  return { restart, clear };
}

/**
 * Runs a program. Resolves to { ended, text }: `ended` says how, undefined where it ended well; `text`: what it printed besides
 * JSON. Each line of JSON goes to `onFound` at once, each other line to `onLine`.
 * @param options { env, seconds, silence, onFound, onLine }
 */
export function runProgram(command, args, options = {}) {
  const { env = {}, onFound, onLine } = options;
  return new Promise((resolve) => {
    let text = '';
    let ended;
    const child = spawn(command, args, {
      env: { ...process.env, QUERN_GPU_CHILD: 'direct', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const limit = limits(child, options, (message) => {
      ended ??= message;
      setTimeout(finish, 1000 * goneSeconds);
    });
    const take = (line) => {
      limit.restart();
      const found = line.startsWith('{') ? parsed(line) : undefined;
      if (found && onFound) return onFound(found);
      onLine?.(line);
      if (text.length < maxText) text += `${line}\n`;
    };
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', take);
    const finish = () => {
      limit.clear();
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
      child.unref(); // a killed process may hang in the driver
      resolve({ ended, text: text.trim() });
    };
    child.stdin.on('error', () => {}); // it has ended
    child.on('error', ({ code, message }) => {
      ended ??= code === 'ENOENT' ? `${command} is not there` : message;
      finish();
    });
    child.on('close', (status, signal) => {
      if (status !== 0) ended ??= signal ? `ended by ${signal}` : `ended with ${status}`;
      finish();
    });
  });
}

/** The same of one of our scripts. `wrapper`: a program and arguments that run it, such as a sanitizer. */
export function runScript(path, args, { wrapper = [], ...options } = {}) {
  const [command, ...all] = [...wrapper, process.execPath, '--no-warnings', path, ...args.map(String)];
  const env = { ...options.env, ...(wrapper.length > 0 && { QUERN_GPU_CHILD: 'wrapped' }) };
  return runProgram(command, all, { ...options, env });
}

/** Sends what a child found to its parent: a line of JSON. */
export const sendToParent = (found) => console.log(JSON.stringify(found));

export const errorText = (error) => `${error.code ?? error.name}: ${error.message}`;

/** The last lines that say what went wrong. */
const lastLines = (text, count = 3) => text.split('\n').slice(-count).join(' ').slice(-500);

/** How a program ended, and its last words: 'ended with 1; …'. */
export const endingOf = ({ ended = 'ended', text }) => (text ? `${ended}; ${lastLines(text)}` : ended);
