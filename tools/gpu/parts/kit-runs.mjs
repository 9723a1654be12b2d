// Cases of the conformance kit in several processes side by side. A process that crashes or falls silent costs the case that it had begun; the next
// process goes on behind it. After a hang of an op its other cases in the same share are left out: each would cost as much.
import { appendFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { endingOf, errorText, runScript } from './processes.mjs';
import { patience } from './setting.mjs';

const script = fileURLToPath(new URL('conformance.mjs', import.meta.url));

/** A case that prints nothing for this many seconds is stopped. */
const silence = 10 * patience;
/** A driver that cannot be made fails each process at its first case. */
const maxIdle = 3;

const nameOf = ({ suite, name }) => `${suite} › ${name}`;

/** Of all processes of a run. */
class Found {
  passed = 0;
  failed = 0;
  notSupported = 0;
  /** { name, message }: cases that failed, crashed or hung. */
  failures = [];
  /** Cases of ops that hung before. */
  avoided = [];
  /** Shares with cases left, when the time was up or no driver could be made; and the cases under way. */
  unfinished = 0;
  underWay = [];
  text = '';

  constructor(log) {
    this.log = log;
  }

  add(found) {
    if (found.status === 'passed') this.passed++;
    if (found.status === 'not supported') this.notSupported++;
    if (found.status === 'failed') this.fail(nameOf(found), found.message);
    this.write(found.status ? `${found.status} ${nameOf(found)}` : `begins ${nameOf(found)}`);
  }

  fail(name, message) {
    this.failed++;
    this.failures.push({ name, message });
    this.write(`FAILED ${name}: ${message}`);
  }

  /** The log says where a run was if all else is lost. */
  write(line) {
    if (!this.log) return;
    try {
      appendFileSync(this.log, `${line}\n`);
    } catch (error) {
      console.error(errorText(error));
    }
  }
}

/** One process: { begun, isSettled, isDone, hung, ended, text }. `begun`: its last case; `hung`: the backend gave it up. */
async function runProcess(found, selection, seconds, { quiet, ...options }) {
  const state = { begun: undefined, isSettled: true, isDone: false, hung: false };
  const onFound = (one) => {
    if (one.done) state.isDone = true;
    else if (one.avoided) found.avoided.push(one.avoided);
    else {
      if (one.begins !== undefined) state.begun = one;
      state.isSettled = one.begins === undefined;
      state.hung = one.status === 'failed' && /QUERN_CUDA_WAIT/.test(one.message);
      found.add(one);
    }
  };
  const { ended, text } = await runScript(script, [JSON.stringify(selection)], {
    ...options,
    // The backend gives up a kernel that hangs, and names it, before the silence is too long.
    ...(!quiet && { silence, env: { QUERN_CUDA_WAIT: String(Math.ceil(0.6 * silence)), ...options.env } }),
    seconds,
    onFound,
  });
  found.text += `${text}\n`;
  return { ...state, ended, text };
}

/** One share of the cases, by one process after the other. */
async function runShare(found, selection, { until, ...options }) {
  let from = 0;
  const avoid = new Set();
  for (let idle = 0; idle < maxIdle; ) {
    const seconds = until - Date.now() / 1000;
    if (seconds < 1) return found.unfinished++;
    const ran = await runProcess(found, { ...selection, from, avoid: [...avoid] }, seconds, options);
    const { begun, isSettled, ended } = ran;
    if (ran.isDone) return;
    if (until - Date.now() / 1000 < 0.5) {
      if (!isSettled) found.underWay.push(nameOf(begun));
      return found.unfinished++;
    }
    const message = `the process ${endingOf(ran)}`;
    if (!isSettled) found.fail(nameOf(begun), message);
    else if (!begun && ended) found.fail('before the first case', message);
    if (ran.hung || (!isSettled && /silence/.test(ended))) avoid.add(begun.name.split(':')[0]);
    idle = begun ? 0 : idle + 1;
    if (begun) from = begun.begins + 1;
  }
  found.unfinished++;
}

/**
 * Runs cases in `count` processes until the time `until`.
 * @param selection { cases, suites, without }
 * @param options { count, until, env, wrapper, log, quiet }: `quiet`: a case may be silent for long, as under a sanitizer
 */
export async function runKit(selection, { count = 1, log, ...options }) {
  const found = new Found(log);
  await Promise.all(
    Array.from({ length: count }, (_, i) => runShare(found, { ...selection, share: [i, count] }, options)),
  );
  return found;
}
