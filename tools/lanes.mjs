// Parts of a test run, in two lanes: most parts of the side lane use one processor or wait for the registry, so they fill what the others
// leave idle. Each lane is a process; the side lane's output is printed when it has ended.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a lane found. `times`: per part, seconds and seconds of processor time. */
export const nothing = () => ({
  counts: { passed: 0, failed: 0, skipped: 0 },
  failures: [],
  flaky: [],
  times: {},
});

/** Adds what another lane found. */
export function add(found, { counts, failures, flaky, times }) {
  for (const name of Object.keys(found.counts)) found.counts[name] += counts[name] ?? 0;
  found.failures.push(...failures);
  found.flaky.push(...flaky);
  Object.assign(found.times, times);
}

/** Seconds of processor time of all commands that have ended (proc(5), cutime and cstime); 0 where there is no /proc. */
export function processorSeconds() {
  if (process.platform !== 'linux') return 0;
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

/** Runs a part. One that throws counts as a failure; the lane goes on. */
export function timed(found, name, act) {
  console.log(`── ${name}`);
  const [start, used] = [Date.now(), processorSeconds()];
  try {
    act();
  } catch (error) {
    found.counts.failed++;
    found.failures.push(`${name}: ${error.message}`);
  }
  found.times[name] = [(Date.now() - start) / 1000, processorSeconds() - used];
}

/** In the side lane: leaves what it found to `startSide`. */
export const leave = (found) => writeFileSync(process.env.QUERN_LANE_RESULT, JSON.stringify(found));

/** Starts `program` as the side lane. The result waits for it, prints its output and returns what it found. */
export function startSide(program, args) {
  const folder = mkdtempSync(join(tmpdir(), 'quern-lane-'));
  const [result, log] = ['result.json', 'log'].map((name) => join(folder, name));
  const output = openSync(log, 'w');
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', output, output],
    env: { ...process.env, QUERN_LANE_RESULT: result },
  });
  const ended = once(child, 'exit');
  process.on('exit', () => child.kill());
  return async () => {
    const [status] = await ended;
    const text = readFileSync(log, 'utf8');
    console.log(text.trimEnd());
    const found = status === 0 ? JSON.parse(readFileSync(result)) : broken(text);
    rmSync(folder, { recursive: true });
    return found;
  };
}

/** A lane that ended in the middle of a part. */
const broken = (text) => ({
  ...nothing(),
  counts: { passed: 0, failed: 1, skipped: 0 },
  failures: [text.trimEnd().split('\n').slice(-40).join('\n')],
});
