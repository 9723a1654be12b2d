// What the machine is: the device by nvidia-smi, memory, folders, and which tools are there.
import { readdirSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, freemem, release, totalmem } from 'node:os';
import { detailPath, nvidia, outputOf, writeResults } from './setting.mjs';

const gibibytes = (bytes) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

function freeIn(folder) {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder);
    return `${gibibytes(bavail * bsize)} of ${gibibytes(blocks * bsize)} free`;
  } catch ({ message }) {
    return message;
  }
}

/** The first line of what a tool says of itself that has a version. */
function versionOf(tool, flag = '--version') {
  const text = outputOf(tool, [flag], { timeout: 5000 });
  if (text === undefined) return 'not there';
  const lines = text.split('\n');
  return (lines.find((line) => /(release|version|V?\d+\.\d+)/i.test(line)) ?? lines[0] ?? '').trim();
}

const all = outputOf('nvidia-smi', ['-q'], { timeout: 5000 });
if (all !== undefined) writeFileSync(detailPath('nvidia-smi.txt'), all);

const facts = {
  'nvidia-smi': nvidia() ?? 'not there',
  kernel: release(),
  processors: String(availableParallelism()),
  memory: `${gibibytes(freemem())} of ${gibibytes(totalmem())} free`,
  '/dev/shm': freeIn('/dev/shm'),
  '/tmp': freeIn('/tmp'),
  glibc: versionOf('ldd'),
  python3: versionOf('python3'),
  nvcc: versionOf('nvcc'),
  ncu: versionOf('ncu'),
  'compute-sanitizer': versionOf('compute-sanitizer'),
  'device files':
    readdirSync('/dev')
      .filter((name) => name.startsWith('nvidia'))
      .join(', ') || 'none',
};
for (const [name, value] of Object.entries(facts)) console.log(`${name.padEnd(18)} ${value}`);
const absent = ['nvidia-smi', 'python3', 'ncu', 'compute-sanitizer'].filter(
  (name) => facts[name] === 'not there',
);
writeResults('facts', { facts, missing: absent });
