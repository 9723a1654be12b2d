// Runs commands of the built CLI one after another: a process for each would mostly start Node and load modules. A message {args, input, env, cwd}
// is answered with {code, stdout, stderr}.
import { Readable } from 'node:stream';

const script = new URL('../dist/cli.js', import.meta.url).href;
let count = 0;

/** Collects what is written to `stream` until `ended` says that the command has called `process.exit`. */
function collect(stream, ended) {
  let text = '';
  stream.write = (chunk, ...rest) => {
    if (!ended()) text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    rest.findLast((argument) => typeof argument === 'function')?.();
    return true;
  };
  return () => text;
}

function setEnvironment(env) {
  const before = Object.keys(env).map((name) => [name, process.env[name]]);
  Object.assign(process.env, env);
  return () => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  };
}

async function run({ args, input, env, cwd }) {
  let exited;
  const stdout = collect(process.stdout, () => exited !== undefined);
  const stderr = collect(process.stderr, () => exited !== undefined);
  process.exit = (code = process.exitCode ?? 0) => {
    exited ??= code;
    throw new Error('the command has ended the process');
  };
  process.exitCode = undefined;
  process.argv = [process.execPath, script, ...args];
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true });
  process.chdir(cwd);
  const restore = setEnvironment(env);
  try {
    await import(`${script}?${count++}`); // its other modules stay loaded
  } catch (error) {
    if (exited === undefined) throw error;
  } finally {
    restore();
  }
  return { code: Number(exited ?? process.exitCode ?? 0), stdout: stdout(), stderr: stderr() };
}

process.stdout.setMaxListeners(0);
process.stderr.setMaxListeners(0);
process.on('message', async (command) => {
  const finished = await run(command);
  process.exitCode = undefined;
  process.send(finished);
});
