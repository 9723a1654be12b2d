// Measures one work on both engines, in turns.
import { keepBusy } from './busy.mjs';
import { EngineProcess } from './engine-process.mjs';
import { contextOf } from './works.mjs';

const none = { end: async () => {} };

const startBoth = async ({ quernEnv }) => [
  await EngineProcess.start('quern', { env: quernEnv }),
  await EngineProcess.start('node-llama-cpp'),
];

/**
 * Both engines in long-lived processes with the model loaded, warmed up; turns: Quern, peer, Quern, peer … `idle`: CPU
 * time per second of the waiting engine; a spinning engine would slow down the other.
 */
async function timeInTurns(work, setting, repeat) {
  const engines = await startBoth(setting);
  let busy = none;
  try {
    const opened = [];
    for (const engine of engines) opened.push(await engine.open(openOptions(work, setting)));
    if (work.busy) busy = await keepBusy();
    const sides = [];
    for (const [side, engine] of engines.entries()) {
      const prepared = await engine.prepare(work);
      sides.push({ about: { ...opened[side].about, ...prepared }, times: [], waited: 0, idle: 0 });
    }
    for (let turn = 0; turn < repeat; turn++)
      for (const side of [0, 1]) await takeTurn(engines, sides, side, turn);
    return sides.map(({ about, times, waited, idle }) => ({ about, times, idle: idle / waited }));
  } finally {
    await busy.end();
    for (const engine of engines) await engine.end();
  }
}

async function takeTurn(engines, sides, side, turn) {
  const other = 1 - side;
  const [start, before] = [performance.now(), engines[other].processorSeconds()];
  sides[side].times.push(await engines[side].time(turn));
  sides[other].waited += (performance.now() - start) / 1000;
  sides[other].idle += engines[other].processorSeconds() - before;
}

const openOptions = (work, { file, threads, modules }) => ({
  file,
  threads,
  modules,
  context: contextOf(work),
  sequences: work.batch,
  cache: work.cache,
});

/** A new process per measurement, in turns: load time, memory after loading, memory after a first prompt. */
async function loadInTurns(work, setting, repeat) {
  const sides = [
    { name: 'quern', env: setting.quernEnv, loads: [] },
    { name: 'node-llama-cpp', env: {}, loads: [] },
  ];
  for (let turn = -1; turn < repeat; turn++)
    for (const side of sides) {
      const engine = await EngineProcess.start(side.name, { env: side.env });
      try {
        const { about, loadMs, memory } = await engine.open(openOptions(work, setting));
        await engine.prepare({ ...work, kind: 'prefill', once: true });
        side.about = about;
        if (turn >= 0) side.loads.push({ loadMs, ...memory, used: await engine.memory() }); // the first turn warms the file cache
      } finally {
        await engine.end();
      }
    }
  return sides.map(({ about, loads }) => ({ about, loads }));
}

/** Measurements of [Quern, peer] for a work. */
export const measure = (work, setting, repeat) =>
  work.kind === 'load' ? loadInTurns(work, setting, repeat) : timeInTurns(work, setting, repeat);
