// Speed of models of true shapes with random weights, as shares of the ceilings, and the times of each op of one step. QUERN_GPU_MODELS: a pattern of
// their names. QUERN_GPU_FOLDERS: where their files go, with colons between (/dev/shm, then the temporary folder). Each model has a process of its own.
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { ceilingsOf } from './ceilings.mjs';
import { endingOf, runScript } from './processes.mjs';
import { saveUnfinished, schedule, secondsLeft, secondsUntil, writeResults } from './setting.mjs';
import { subjects } from './subjects.mjs';

const script = (name) => fileURLToPath(new URL(name, import.meta.url));
const folders = (process.env.QUERN_GPU_FOLDERS ?? `/dev/shm:${tmpdir()}`).split(':');

const pattern = new RegExp(process.env.QUERN_GPU_MODELS ?? '');
const wanted = subjects.filter(({ name }) => pattern.test(name));

const results = { machine: undefined, ceilings: undefined, works: [], steps: [], skipped: [], problems: [] };

/** Files as they are written: a promise of { path } or { failed } for each. */
class Files {
  names = [...new Set(wanted.map(({ file }) => file))];
  settled = new Map();
  folders = [];

  constructor() {
    for (const name of this.names) {
      let settle;
      const promise = new Promise((resolve) => {
        settle = resolve;
      });
      this.settled.set(name, { promise, settle });
    }
  }

  async write() {
    const onFound = ({ file, made, ...found }) => {
      if (made) this.folders.push(made);
      else this.settled.get(file).settle(found);
    };
    const { ended, text } = await runScript(script('model-files.mjs'), [...folders, '--', ...this.names], {
      onFound,
    });
    for (const { settle } of this.settled.values()) // of those that are missing
      settle({ failed: `the process that writes files ${endingOf({ ended, text })}` });
  }

  of(name) {
    return this.settled.get(name).promise;
  }

  dispose() {
    for (const folder of this.folders) rmSync(folder, { recursive: true, force: true });
  }
}

function show(model, { work, failed, tokensPerSecond, milliseconds, share, of, javascript }) {
  if (failed) return console.log(`FAILED ${model}, ${work}: ${failed}`);
  const shown = share > 0 ? `, ${(100 * share).toFixed(1)} % of ${of}` : '';
  const script = javascript === undefined ? '' : `, JavaScript ${(1000 * javascript).toFixed(0)} µs`;
  console.log(
    `${model}, ${work}: ${tokensPerSecond.toFixed(1)} tokens/s, ${milliseconds.toPrecision(4)} ms${shown}${script}`,
  );
}

function showStep(model, { step, failed, milliseconds, count, ops }) {
  if (failed) return console.log(`FAILED ${model}, times per op, ${step}: ${failed}`);
  console.log(`${model}, ${step}: ${count} ops, ${milliseconds.toPrecision(4)} ms`);
  for (const op of ops.slice(0, 8))
    console.log(
      `${op.milliseconds.toFixed(3).padStart(11)} ms  ${String(op.count).padStart(4)} ×  ${op.name}`,
    );
}

/** Share of the slowdown at a depth that the time for its bytes explains. */
function explain(model) {
  const of = (name) => results.works.find((one) => one.model === model && name.test(one.work) && !one.failed);
  const [shallow, deep] = [of(/^decode$/), of(/^decode at depth \d+$/)];
  if (!shallow || !deep) return;
  const slower = deep.milliseconds - shallow.milliseconds;
  const ofBytes = (1000 * (deep.bytes - shallow.bytes)) / results.ceilings.copyBandwidth.value;
  deep.explained = ofBytes / slower;
  console.log(
    `${model}, ${deep.work}: its bytes explain ${(100 * deep.explained).toFixed(0)} % of the slowdown`,
  );
}

/** A result of the process of a model. */
function take(name, found) {
  if (found.machine) results.machine ??= found.machine;
  if (found.skipped) results.skipped.push(`${name}, ${found.skipped}`);
  if (found.work) {
    results.works.push({ model: name, ...found });
    show(name, found);
  }
  if (found.step) {
    results.steps.push({ model: name, ...found });
    showStep(name, found);
  }
  if (found.failed) results.problems.push(`${name}, ${found.work ?? found.step}: ${found.failed}`);
  saveUnfinished('models', results);
}

/** A model until its end; what a crash leaves is kept. */
async function measure({ name, file, env }, files, until) {
  const late = new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, 1000 * secondsUntil(until)), {
      failed: 'its file was not there in time',
    }).unref();
  });
  const { path, failed } = await Promise.race([files.of(file), late]);
  if (failed) return results.problems.push(`${name}: ${failed}`);
  let begun;
  const { ended, text } = await runScript(script('model.mjs'), [name, path], {
    env: { ...env, QUERN_GPU_END: String(until) },
    seconds: Math.max(1, secondsUntil(until) + 1),
    onFound: (found) => {
      begun = found.begins ?? (found.machine || found.skipped ? begun : undefined);
      take(name, found);
    },
  });
  if (ended)
    results.problems.push(`${name}${begun ? `, ${begun}` : ''}: the process ${endingOf({ ended, text })}`);
  explain(name);
}

const minSeconds = 5;

/** A model that overruns its time is stopped, and large files are removed, before run.mjs stops this part. */
const secondsOfEnd = 4;

async function measureAll(files) {
  Object.assign(results, await ceilingsOf(0.3 * secondsLeft()));
  const later = [...wanted];
  for (const [subject, until] of schedule(wanted, Date.now() / 1000 + secondsLeft() - secondsOfEnd)) {
    later.shift();
    if (secondsLeft() < minSeconds || secondsUntil(until) < minSeconds) results.skipped.push(subject.name);
    else await measure(subject, files, until);
    const path =
      !later.some(({ file }) => file === subject.file) &&
      (await Promise.race([files.of(subject.file), {}])).path;
    if (path) rmSync(path, { recursive: true, force: true });
    saveUnfinished('models', results);
  }
}

const files = new Files();
process.on('exit', () => files.dispose());
process.on('SIGTERM', () => process.exit(1));
files.write(); // beside all else
await measureAll(files);
if (results.skipped.length > 0) {
  console.log(`not measured, the time was up: ${results.skipped.join('; ')}`);
}
writeResults('models', results);
process.exit();
