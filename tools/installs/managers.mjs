// The runtime with a backend and a model, installed by each package manager and used from each runtime.
import { packageManagers } from './package-managers.mjs';
import { attempt, expectText } from './table.mjs';
import { runtimes, withVersion } from './tools.mjs';
import { anyVersion, project, run, story } from './work.mjs';

const packages = ['@quern/runtime', '@quern/backend-cpu', '@quern/demo-model'];
const programs = { ESM: 'story.mjs', CommonJS: 'story.cjs', 'a worker thread': 'worker.mjs' };
const part = 'Runtime, CPU backend and demo model';

/** Every program on one runtime. `texts`: what programs have printed so far; all print the same. */
function useInstalled({ name, command }, folder, runtime, texts) {
  const first = { part, project: Object.keys(programs).join(', '), manager: name, runtime: runtime.name };
  return attempt(first, async (row) => {
    const [program, ...args] = await runtime.command();
    row.runtime = await withVersion(runtime.name, program);
    const [binary, ...flags] = (await command?.()) ?? [program, ...args];
    for (const [kind, file] of Object.entries(programs)) {
      const { stdout } = await run(binary, [...flags, file], { cwd: folder });
      expectText(stdout, story);
      if (texts.add(stdout).size > 1) throw new Error(`${kind}: texts differ: ${[...texts].join(' | ')}`);
    }
  });
}

const thisNode = { name: 'Node', command: async () => [process.execPath] };

async function useManager(key, { origin }) {
  const manager = packageManagers[key];
  const dependencies = anyVersion(...packages, ...(manager.also ?? []));
  const folder = project(`story-${key}`, { dependencies, copied: Object.values(programs) });
  const row = { part, project: 'install', manager: manager.name };
  if (!(await attempt(row, async () => void (await manager.install(folder, origin))))) return;
  const texts = new Set();
  for (const runtime of manager.onlyHere ? [thisNode] : runtimes)
    await useInstalled(manager, folder, runtime, texts);
}

export const managerCases = Object.entries(packageManagers).map(([key, { seconds, onlyHere }]) => ({
  name: `managers/${key}`,
  seconds,
  runtimes: !onlyHere,
  act: (context) => useManager(key, context),
}));
