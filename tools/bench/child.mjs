// One engine in its own process, controlled over IPC: open, prepare, time, memory. Ends with its parent.
import { readFileSync } from 'node:fs';

const engines = {
  quern: async () => (await import('./engines/quern.mjs')).Quern,
  'node-llama-cpp': async () => (await import('./engines/node-llama-cpp.mjs')).NodeLlamaCpp,
  'llama.cpp': async () => (await import('./engines/llama-cpp.mjs')).LlamaCpp,
};

const Engine = await engines[process.argv[2]]();
let engine;

/** Resident bytes: total, and anonymous (Linux; elsewhere only the total). */
function memory() {
  const resident = process.memoryUsage.rss();
  try {
    const status = readFileSync('/proc/self/status', 'utf8');
    const anonymous = 1024 * Number(/RssAnon:\s+(\d+)/.exec(status)[1]);
    return { resident, anonymous };
  } catch {
    return { resident };
  }
}

const commands = {
  async open(options) {
    engine = await Engine.open(options);
    return { loadMs: engine.loadMs, about: engine.about(), memory: memory() };
  },
  prepare: (work) => engine.prepare(work),
  time: (turn) => engine.time(turn),
  memory,
};

process.on('message', async ({ command, argument }) => {
  try {
    process.send({ value: (await commands[command](argument)) ?? null });
  } catch (error) {
    process.send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.on('disconnect', () => process.exit(0));
process.send({ value: 'started' });
