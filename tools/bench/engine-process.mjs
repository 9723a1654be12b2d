import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const child = fileURLToPath(new URL('child.mjs', import.meta.url));

/** Longest time of an answer, then the process is killed; filling a cache of 16384 tokens takes minutes. */
const limitMs = 1_200_000;

/** The parent's side of child.mjs. */
export class EngineProcess {
  static async start(name, { env = {} } = {}) {
    const engine = new EngineProcess(name, env);
    await engine.answer();
    return engine;
  }

  constructor(name, env) {
    this.name = name;
    this.process = fork(child, [name], { env: { ...process.env, ...env } });
  }

  open(options) {
    return this.ask('open', options);
  }

  prepare(work) {
    return this.ask('prepare', work);
  }

  time(turn) {
    return this.ask('time', turn);
  }

  memory() {
    return this.ask('memory');
  }

  async ask(command, argument) {
    const answer = this.answer();
    this.process.send({ command, argument });
    return answer;
  }

  answer() {
    return new Promise((resolve, reject) => {
      const done = (settle, value) => {
        clearTimeout(timer);
        this.process.off('message', onMessage).off('exit', onExit);
        settle(value);
      };
      const fail = (text) => done(reject, new Error(`${this.name}: ${text}`));
      const onMessage = ({ value, error }) => (error ? fail(error) : done(resolve, value));
      const onExit = (code, signal) => fail(`its process ended (${signal ?? code})`);
      const timer = setTimeout(() => {
        fail(`no answer within ${limitMs / 1000} s`);
        this.process.kill('SIGKILL');
      }, limitMs);
      this.process.on('message', onMessage).on('exit', onExit);
    });
  }

  /** CPU seconds so far (Linux). */
  processorSeconds() {
    try {
      const fields = readFileSync(`/proc/${this.process.pid}/stat`, 'utf8').split(') ')[1].split(' ');
      return (Number(fields[11]) + Number(fields[12])) / 100; // utime and stime, in ticks of 10 ms
    } catch {
      return Number.NaN;
    }
  }

  async end() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    const timer = setTimeout(() => this.process.kill('SIGKILL'), 5000);
    this.process.disconnect();
    await ended;
    clearTimeout(timer);
  }
}
