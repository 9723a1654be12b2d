// Runs parts one after the other, for run.sh and mac.mjs: node run.mjs first | figures | PART…. A part that crashes or hangs costs itself alone; what is
// found is in OUT and in results.tar at any time.
import { execFile } from 'node:child_process';
import { appendFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { endingOf, runScript } from './processes.mjs';
import { detailPath, readResults, resultsPath, small } from './setting.mjs';

/** Cases that the second call forces kernels of. */
const choiceCases = '^linear (bf16|q4_k) (16|64|256)×\\[14336×4096\\]|^linear q4_k 2048×\\[14336×4096\\]';

/**
 * The two calls: parts in order, with their seconds on an H100 or H200. What a part leaves, the next ones have. `seconds`: with unpacking, and a rest for
 * the machine to stop the command.
 */
const calls = {
  first: {
    seconds: 204,
    parts: [
      { part: 'facts', seconds: 4 },
      { part: 'ceilings', seconds: 9, args: ['probe'] },
      { part: 'smoke', seconds: 34 },
      { part: 'check', seconds: 56 },
      { part: 'sanitize', seconds: 50 },
      { part: 'torch', seconds: 20 },
      { part: 'models', seconds: 24, env: { QUERN_GPU_MODELS: '^qwen3-0.6b bf16$' } },
    ],
  },
  figures: {
    seconds: 464,
    parts: [
      {
        part: 'models',
        seconds: 272,
        env: { QUERN_GPU_MODELS: '^(qwen3-|llama-3.1-8b (q4_k_m|bf16))' },
      },
      { part: 'kernels', seconds: 95 },
      {
        part: 'choices',
        seconds: 55,
        env: {
          QUERN_GPU_CHOICES: 'SLAB=(4096|8192|16384|32768)|PRODUCT=(warpgroups|128x|64x64|tiles)|ROWS',
          ...(!small && { QUERN_GPU_CHOICE_CASES: choiceCases }),
        },
      },
      { part: 'counters', seconds: 32 },
    ],
  },
};

const parts = [
  ...['facts', 'ceilings', 'smoke', 'check', 'sanitize', 'torch', 'models', 'kernels', 'choices', 'counters'],
  'peers',
];

/** Seconds of single parts, all together, by default. */
const usualSeconds = 540;
/** A part that does not end by itself is stopped this many seconds after its end. */
const grace = 2;
/** What each part that follows is left at least, where parts are named one by one. */
const secondsOfPart = 60;
const minSeconds = 2;

const now = () => Date.now() / 1000;
const began = Number(process.env.QUERN_GPU_BEGAN ?? now());
const out = resolve(process.env.OUT ?? '.');
const script = (part) => fileURLToPath(new URL(`${part}.mjs`, import.meta.url));

/** Parts of a command, each with its end in seconds since 1970. */
function planOf(names) {
  const call = calls[names[0]];
  const whole = Number(process.env.QUERN_GPU_SECONDS ?? call?.seconds ?? usualSeconds);
  const end = began + whole;
  if (!call) {
    const ends = names.map(
      (_, i) => end - Math.min(secondsOfPart, whole / names.length) * (names.length - 1 - i),
    );
    return names.map((part, i) => ({ part, end: ends[i] }));
  }
  const total = call.parts.reduce((sum, { seconds }) => sum + seconds, 0);
  let before = 0;
  return call.parts.map((one) => {
    before += one.seconds;
    return { ...one, end: end - ((total - before) * whole) / call.seconds };
  });
}

/** A longer command than a call's is on a slower machine. */
const patienceOf = ([name]) =>
  process.env.QUERN_GPU_PATIENCE ??
  String(Math.max(1, Number(process.env.QUERN_GPU_SECONDS ?? 0) / (calls[name]?.seconds ?? usualSeconds)));

const problems = [];
const log = (line) => {
  console.log(line);
  try {
    appendFileSync(detailPath('run.log'), `${line}\n`);
  } catch {
    // A full disk: the output has it.
  }
};

let packing = Promise.resolve();

/** All results and reports as one file, whole at any time. */
function pack() {
  packing = packing.then(async () => {
    const results = readdirSync(out).filter((name) => /^results-\w+\.json$/.test(name));
    const tar = join(out, 'results.tar');
    const details = process.env.QUERN_GPU_DETAILS;
    const args = ['-cf', `${tar}.new`, '-C', out, ...results, ...(details ? ['-C', details, '.'] : [])];
    try {
      // A file that grows meanwhile is an error of tar's too; it is in the tar as it was.
      await promisify(execFile)('tar', args).catch((error) => {
        if (error.code !== 1) throw error;
      });
      await promisify(execFile)('mv', [`${tar}.new`, tar]);
    } catch (error) {
      console.error(`results.tar could not be written: ${String(error.stderr || error.message).trim()}`);
    }
  });
  return packing;
}
const secondsOfPack = 5;

/** What later parts take from a part before them. */
function environmentAfter(part) {
  if (part === 'smoke') return readResults('smoke')?.switches ?? {};
  if (part === 'facts') return { QUERN_GPU_DRIVER: readResults('facts')?.driver ?? '' };
  return {};
}

/** What a part says went wrong; if it says nothing, how it ended. */
function report(part, ending) {
  const results = readResults(part);
  const { problems: own = [], missing = [], skipped = [] } = results ?? {};
  const all = [...own, ...missing.map((tool) => `${tool} is not there`)];
  if (skipped.length > 0) all.push(`not measured, the time was up: ${skipped.join('; ')}`);
  if (!results) all.push(`no results; the part ${ending ?? 'ended'}`);
  else if (results.unfinished) all.push(`did not finish; the part ${ending ?? 'ended'}`);
  else if (ending && own.length === 0) all.push(`the part ${ending}`);
  problems.push(...all.map((one) => `${part}: ${one}`));
}

/** A call's variables, except those that its caller has set. */
const unlessSet = (env) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => process.env[name] === undefined));

const shownSwitches = (env) =>
  Object.entries(env)
    .filter(([name]) => name.startsWith('QUERN_CUDA_'))
    .map(([name, value]) => ` ${name}=${JSON.stringify(value)}`)
    .join('');

/** Runs one part. Returns variables for those that follow. */
async function runPart({ part, args = [], env = {}, end }, inherited, patience) {
  const switches = shownSwitches(inherited);
  log(`== ${part}${switches && `, with${switches}`}`);
  const left = end - now();
  if (left < minSeconds) {
    problems.push(`${part}: not started, the time was up`);
    return {};
  }
  if (!(part === 'ceilings' && args.length === 0)) rmSync(resultsPath(part), { force: true });
  const { ended, text } = await runScript(script(part), args, {
    env: { ...inherited, ...unlessSet(env), QUERN_GPU_END: String(end), QUERN_GPU_PATIENCE: patience },
    seconds: left + grace,
    onLine: log,
  });
  report(part, ended && endingOf({ ended, text }));
  await pack();
  return environmentAfter(part);
}

function saveProblems() {
  try {
    writeFileSync(resultsPath('run'), JSON.stringify({ part: 'run', problems }, null, 1));
  } catch (error) {
    console.error(`the list of problems could not be saved: ${error.message}`);
  }
}

async function runAll(names) {
  const patience = patienceOf(names);
  let inherited = {};
  for (const one of planOf(names)) {
    inherited = { ...inherited, ...(await runPart(one, inherited, patience)) };
    saveProblems();
  }
  await pack();
  if (problems.length === 0) return log('all parts ended well');
  log('== what went wrong');
  for (const one of problems) log(`- ${one}`);
  process.exitCode = 1;
}

const names = process.argv.slice(2);
const odd = names.find((name) => !calls[name] && !parts.includes(name));
if (odd !== undefined || names.length === 0) {
  console.error(
    odd === undefined
      ? 'run.sh: name a call or parts, such as: sh tools/gpu/run.sh first'
      : `run.sh: there is no part '${odd}'`,
  );
  process.exit(2);
}
if (names.length > 1 && names.some((name) => calls[name])) {
  console.error(`run.sh: ${Object.keys(calls).join(' and ')} are commands of their own`);
  process.exit(2);
}
const packer = setInterval(pack, 1000 * secondsOfPack);
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, async () => {
    problems.push('the command was stopped');
    saveProblems();
    await pack();
    process.exit(1);
  });
await runAll(names);
clearInterval(packer);
