// Measures one work on every engine, in turns.
import { keepBusy } from './busy.mjs';
import { EngineProcess } from './engine-process.mjs';
import { contextOf } from './works.mjs';

const none = { end: async () => {} };

/** Between turns: OpenMP's threads, which llama.cpp uses where it is built with OpenMP, spin for 200 ms after their work. */
const restMs = 300;

const rest = () => new Promise((resolve) => setTimeout(resolve, restMs));

/** The engines of a setting, in turn order: their names in the results, in child.mjs, and their environments. */
const enginesOf = ({ quernEnv, addon }) => [
  { side: 'quern', name: 'quern', env: quernEnv },
  { side: 'peer', name: 'node-llama-cpp' },
  ...(addon ? [{ side: 'built', name: 'llama.cpp' }] : []),
];

const turnsOf = ({ turns }, repeat) => Math.min(repeat, turns ?? repeat);

/**
 * All engines in long-lived processes with the model loaded, warmed up; turns: Quern, peers, Quern, peers … `idle`: CPU
 * time per second of a waiting engine; a spinning engine would slow down the others.
 */
async function timeInTurns(work, setting, repeat) {
  const sides = [];
  let busy = none;
  try {
    for (const { side, name, env } of enginesOf(setting)) {
      const engine = await EngineProcess.start(name, { env });
      sides.push({ side, engine, times: [], waited: 0, idle: 0 });
    }
    for (const one of sides) one.about = (await one.engine.open(openOptions(work, setting))).about;
    if (work.busy) busy = await keepBusy();
    for (const one of sides) one.about = { ...one.about, ...(await one.engine.prepare(work)) };
    for (let turn = 0; turn < turnsOf(work, repeat); turn++)
      for (const one of sides) await takeTurn(sides, one, work, turn);
    return Object.fromEntries(
      sides.map(({ side, about, times, waited, idle }) => [side, { about, times, idle: idle / waited }]),
    );
  } finally {
    await busy.end();
    for (const { engine } of sides) await engine.end();
  }
}

async function takeTurn(sides, one, { times }, turn) {
  await rest();
  const others = sides.filter((other) => other !== one);
  const before = others.map(({ engine }) => engine.processorSeconds());
  const start = performance.now();
  let ms = 0;
  for (let i = 0; i < times; i++) ms += await one.engine.time(turn * times + i);
  one.times.push(ms / times);
  for (const [i, other] of others.entries()) {
    other.waited += (performance.now() - start) / 1000;
    other.idle += other.engine.processorSeconds() - before[i];
  }
}

const openOptions = (work, { file, threads, modules, addon }) => ({
  file,
  threads,
  modules,
  addon,
  context: contextOf(work),
  sequences: work.batch,
  cache: work.cache,
});

/** A new process per measurement, in turns: load time, memory after loading, memory after a first prompt. */
async function loadInTurns(work, setting, repeat) {
  const sides = enginesOf(setting).map((engine) => ({ ...engine, loads: [] }));
  for (let turn = -1; turn < repeat; turn++)
    for (const one of sides) {
      const engine = await EngineProcess.start(one.name, { env: one.env });
      try {
        const { about, loadMs, memory } = await engine.open(openOptions(work, setting));
        await engine.prepare({ ...work, kind: 'prefill', once: true });
        one.about = about;
        if (turn >= 0) one.loads.push({ loadMs, ...memory, used: await engine.memory() }); // the first turn warms the file cache
      } finally {
        await engine.end();
      }
    }
  return Object.fromEntries(sides.map(({ side, about, loads }) => [side, { about, loads }]));
}

/** Measurements of a work: {quern, peer, built}; `built`, llama.cpp built for this machine, only if the setting has its addon. */
export const measure = (work, setting, repeat) =>
  work.kind === 'load' ? loadInTurns(work, setting, repeat) : timeInTurns(work, setting, repeat);
