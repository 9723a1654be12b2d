// Quern, node-llama-cpp and llama.cpp built for this machine, on the same files with the same threads, in turns. Usage:
// README.md.
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measure } from './alternate.mjs';
import { buildAddon, readBuild } from './llama-cpp-build.mjs';
import { modelFile } from './models.mjs';
import { restrictToAvx2 } from './restricted-peer.mjs';
import { isFinished, keyOf, openResults, quernCommit, saveResults, thisMachine } from './results.mjs';
import { median } from './statistics.mjs';
import { worksOf } from './works.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

const { values: flags } = parseArgs({
  options: {
    archs: { type: 'string', default: 'qwen3-0.6b' },
    formats: { type: 'string', default: 'q4_k_m' },
    threads: { type: 'string', default: '2' },
    isa: { type: 'string', default: 'best' },
    works: { type: 'string' },
    repeat: { type: 'string' },
    quick: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
    seconds: { type: 'string', default: 'Infinity' },
    models: { type: 'string', default: join(here, '../../models/bench') },
    peer: { type: 'string', default: join(here, 'node_modules') },
    'llama-cpp': { type: 'string' },
    results: { type: 'string' },
  },
});

const list = (text) => text.split(',').map((value) => value.trim());

function fail(message) {
  console.error(`bench: ${message}`);
  process.exit(2);
}

function needWhole(name, text) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) fail(`--${name} is ${text}; it must be a whole number above 0`);
  return value;
}

/** The requested works, in table order. */
function chosenWorks() {
  const all = worksOf(flags.quick);
  if (flags.works === undefined) return all;
  const names = list(flags.works);
  for (const name of names)
    if (!all.some((work) => work.name === name))
      fail(`there is no work '${name}'; there are ${all.map((work) => work.name).join(', ')}`);
  return all.filter(({ name }) => names.includes(name));
}

/** Everything to measure, with its key. */
function plan() {
  const works = chosenWorks();
  const settings = list(flags.archs).flatMap((arch) =>
    list(flags.formats).flatMap((format) =>
      list(flags.threads).flatMap((threads) =>
        list(flags.isa).map((isa) => ({ arch, format, threads: needWhole('threads', threads), isa })),
      ),
    ),
  );
  for (const { isa } of settings)
    if (!['best', 'avx2'].includes(isa)) fail(`--isa is ${isa}; it must be best or avx2`);
  return settings.flatMap((setting) => works.map((work) => ({ ...setting, work: work.name, does: work })));
}

function peerVersion(modules) {
  const manifest = join(modules, 'node-llama-cpp/package.json');
  if (!existsSync(manifest))
    fail(`node-llama-cpp is not installed in ${modules}: run npm install in ${here}, or give --peer FOLDER`);
  return `node-llama-cpp ${JSON.parse(readFileSync(manifest, 'utf8')).version}`;
}

function show({ quern, peer, built }, { batch, tokens, kind }) {
  const peers = built ? [peer, built] : [peer];
  if (kind === 'load') {
    const of = ({ loads }) =>
      `${median(loads.map(({ loadMs }) => loadMs)).toFixed(0)} ms, ${(median(loads.map(({ resident }) => resident)) / 1e6).toFixed(0)} MB`;
    return [quern, ...peers].map(of).join(' against ');
  }
  const rate = ({ times }) => (1000 * batch * tokens) / median(times);
  const beside = (other) => `${rate(other).toFixed(1)} (${(rate(quern) / rate(other)).toFixed(2)} ×)`;
  return `${rate(quern).toFixed(1)} against ${peers.map(beside).join(' and ')} tokens/s`;
}

const repeat = needWhole('repeat', flags.repeat ?? (flags.quick ? '2' : '7'));
const until = performance.now() + 1000 * Number(flags.seconds);
if (Number.isNaN(until)) fail(`--seconds is ${flags.seconds}; it must be a number`);
const modules = resolve(flags.peer);
const file = flags.results ?? join(here, flags.quick ? 'results-quick.json' : 'results.json');
let restricted;
let build;
let addon;

/** The build is for this machine's best instruction set. */
const hasBuilt = ({ isa }) => build !== undefined && isa === 'best';

/** Measures one work on every engine and records it. */
async function take(results, { does, ...item }) {
  const isAvx2 = item.isa === 'avx2';
  if (isAvx2) restricted ??= restrictToAvx2(modules);
  const setting = {
    file: await modelFile(flags.models, item.arch, item.format),
    threads: item.threads,
    quernEnv: isAvx2 ? { QUERN_CPU_ISA: 'avx2' } : {},
    modules: isAvx2 ? restricted : modules,
    addon: hasBuilt(item) ? addon : undefined,
  };
  const sides = await measure(does, setting, repeat);
  const measurement = { ...item, does, commit, at: new Date().toISOString(), ...sides };
  const others = results.measurements.filter((other) => keyOf(other) !== keyOf(item));
  results.measurements = [...others, measurement];
  saveResults(file, results);
  return show(measurement, does);
}

async function run() {
  if (flags['llama-cpp']) build = readBuild(flags['llama-cpp']);
  const results = openResults(file, {
    machine: thisMachine(),
    peer: peerVersion(modules),
    ...(build ? { built: build.about } : {}),
    quick: flags.quick,
  });
  const wanted = plan();
  const left = wanted.filter((item) => flags.again || !isFinished(results, item, hasBuilt(item)));
  console.error(`${wanted.length} to measure, ${left.length} left; results go to ${file}`);
  if (left.some(hasBuilt)) addon = buildAddon(build);
  let longest = 0;
  while (left.length > 0 && performance.now() + longest <= until) {
    const start = performance.now();
    const item = left.shift();
    const shown = await take(results, item);
    const took = performance.now() - start;
    longest = Math.max(longest, took);
    console.log(`${keyOf(item)}: ${shown} (${(took / 1000).toFixed(0)} s)`);
  }
  if (left.length === 0) return;
  console.error(`${left.length} left: the same command goes on`);
  process.exitCode = 3;
}

const commit = quernCommit();
await run().catch((error) => fail(error.message));
