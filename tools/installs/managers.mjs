// The runtime with a backend and a model, installed by each package manager and used from each runtime.
import { attempt } from './table.mjs';
import { anyVersion, project, run } from './work.mjs';

const packages = ['@quern/core', '@quern/runtime', '@quern/backend-cpu', '@quern/demo-model'];
const programs = { ESM: 'story.mjs', CommonJS: 'story.cjs', 'a worker thread': 'worker.mjs' };
const story = /^, in the little\b/m;
const part = 'Runtime, CPU backend and demo model';

/** Every program on one runtime. */
function useInstalled({ name, program }, folder, { name: runtime, command }) {
  return attempt({ part, project: Object.keys(programs).join(', '), manager: name, runtime }, async () => {
    const [binary, ...args] = program ?? command;
    for (const [kind, file] of Object.entries(programs)) {
      const { stdout } = await run(binary, [...args, file], { cwd: folder });
      if (!story.test(stdout)) throw new Error(`${kind}: printed ${JSON.stringify(stdout.slice(0, 200))}`);
    }
  });
}

export async function checkManagers({ managers, runtimes }) {
  for (const manager of managers) {
    const name = `story-${manager.name.replace(/\W+/g, '-').toLowerCase()}`;
    const copied = Object.values(programs);
    const folder = project(name, { dependencies: anyVersion(...packages), copied });
    const row = { part, project: 'install', manager: manager.name };
    if (!(await attempt(row, async () => void (await manager.install(folder))))) continue;
    const used = manager.program ? [{ name: `Node ${process.versions.node}`, command: [] }] : runtimes;
    for (const runtime of used) await useInstalled(manager, folder, runtime);
  }
}
