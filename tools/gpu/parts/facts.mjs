// What the machine is: the device by nvidia-smi, memory, folders, and which tools are there. Tools run side by side: nvidia-smi and ncu may take
// seconds to start.
import { readdirSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, freemem, release, totalmem } from 'node:os';
import { runProgram } from './processes.mjs';
import { detailPath, nvidiaQuery, saveUnfinished, secondsLeft, writeResults } from './setting.mjs';

const gibibytes = (bytes) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

function freeIn(folder) {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    return `${gibibytes(bavail * bsize)} of ${gibibytes(blocks * bsize)} free`;
  } catch ({ message }) {
    return message;
  }
}

const results = { facts: {}, driver: undefined, missing: [], problems: [] };
/** Tools that parts use. */
const used = ['nvidia-smi', 'python3', 'ncu', 'compute-sanitizer'];

const run = (tool, args) => runProgram(tool, args, { seconds: Math.max(1, secondsLeft() - 0.5) });

/** The fact `name` is what `shorten` leaves of a tool's output, or why there is none. Returns the fact where the tool answers. */
async function find(name, tool, args, shorten) {
  const { ended, text } = await run(tool, args);
  const isAbsent = ended?.endsWith('is not there');
  const failure = [ended, text].filter(Boolean).join('; ').slice(0, 300);
  results.facts[name] = isAbsent ? 'not there' : ended ? failure : shorten(text);
  if (isAbsent && used.includes(tool)) results.missing.push(tool);
  if (ended && !isAbsent) results.problems.push(`${tool} ${failure}`);
  saveUnfinished('facts', results);
  return ended ? undefined : results.facts[name];
}

/** The first line that has a version. */
function versionIn(text) {
  const lines = text.split('\n');
  return (lines.find((line) => /(release|version|V?\d+\.\d+)/i.test(line)) ?? lines[0]).trim();
}
const findVersion = (tool, name = tool) => find(name, tool, ['--version'], versionIn);

async function findDriver() {
  results.driver = await find('nvidia-smi', 'nvidia-smi', nvidiaQuery, (text) => text);
}

/** All that nvidia-smi reports goes to a file. */
async function saveReport() {
  const { ended, text } = await run('nvidia-smi', ['-q']);
  if (!ended) writeFileSync(detailPath('nvidia-smi.txt'), `${text}\n`);
}

const deviceFiles = readdirSync('/dev').filter((name) => name.startsWith('nvidia'));
Object.assign(results.facts, {
  kernel: release(),
  processors: String(availableParallelism()),
  memory: `${gibibytes(freemem())} of ${gibibytes(totalmem())} free`,
  '/dev/shm': freeIn('/dev/shm'),
  '/tmp': freeIn('/tmp'),
  'device files': deviceFiles.join(', ') || 'none',
});
await Promise.all([
  findDriver(),
  saveReport(),
  findVersion('ldd', 'glibc'),
  ...['python3', 'nvcc', 'ncu', 'compute-sanitizer'].map((tool) => findVersion(tool)),
]);
for (const [name, value] of Object.entries(results.facts)) console.log(`${name.padEnd(18)} ${value}`);
writeResults('facts', results);
