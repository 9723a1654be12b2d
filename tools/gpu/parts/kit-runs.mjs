// Cases of the conformance kit in several processes side by side. A process that crashes or falls silent costs the case that it had begun; the next
// process goes on behind it.
import { appendFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { errorText, lastLines, runScript } from './processes.mjs';
import { patience } from './setting.mjs';

const script = fileURLToPath(new URL('conformance.mjs', import.meta.url));

/** A case that says nothing for so long is stopped. */
const silence = 10 * patience;
/** A driver that cannot be made fails each process at its first case. */
const mostIdle = 3;

const nameOf = ({ suite, name }) => `${suite} › ${name}`;

/** Of all processes of a run. */
class Found {
  passed = 0;
  failed = 0;
  notSupported = 0;
  /** { name, message }: cases that failed, crashed or hung. */
  failures = [];
  /** Processes that had cases left when the time was up. */
  unfinished = 0;
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

/** One share of the cases, by one process after the other. */
async function runShare(found, selection, { until, quiet, ...options }) {
  let from = 0;
  for (let idle = 0; idle < mostIdle; ) {
    const seconds = until - Date.now() / 1000;
    if (seconds < 1) return found.unfinished++;
    let begun;
    let settled = true;
    let done = false;
    const onFound = (one) => {
      if (one.done) done = true;
      else if (one.begins !== undefined) [begun, settled] = [one, false];
      else settled = true;
      if (!one.done) found.add(one);
    };
    const args = [JSON.stringify({ ...selection, from })];
    const { ended, text } = await runScript(script, args, {
      ...options,
      seconds,
      ...(!quiet && { silence: Math.min(silence, seconds) }),
      onFound,
    });
    found.text += `${text}\n`;
    if (done) return;
    if (until - Date.now() / 1000 < 1) {
      if (begun && !settled) found.write(`not ended ${nameOf(begun)}`);
      return found.unfinished++;
    }
    if (!settled) found.fail(nameOf(begun), `the process ${ended ?? 'ended'}; ${lastLines(text)}`);
    if (!begun && ended) found.fail('before the first case', `the process ${ended}; ${lastLines(text)}`);
    idle = begun ? 0 : idle + 1;
    if (begun) from = begun.begins + 1;
  }
}

/**
 * Runs cases in `count` processes until the time `until`.
 * @param selection { cases, suites, without }
 * @param options { count, until, env, wrapper, log, quiet }: `quiet`: a case may be silent for long, as under a sanitizer
 */
export async function runKit(selection, { count = 1, log, ...options }) {
  const found = new Found(log);
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      runShare(found, { ...selection, share: [i, count] }, options),
    ),
  );
  return found;
}
