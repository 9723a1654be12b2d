// Proof on a Mac: prepares gpu-kit/ with backend-metal, and runs parts, each for at most ten minutes. Results go to gpu-results/.
//   node tools/gpu/mac.mjs [--small] check ceilings kernels models
// After npm start. --emulated: on the emulated device, for a dry run elsewhere. --kit: another folder. OUT: where results go.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const known = ['check', 'ceilings', 'kernels', 'models'];
const secondsOfPart = 540;

const { values: flags, positionals: parts } = parseArgs({
  allowPositionals: true,
  options: { small: { type: 'boolean' }, emulated: { type: 'boolean' }, kit: { type: 'string' } },
});
const odd = parts.find((part) => !known.includes(part));
if (parts.length === 0 || odd !== undefined) {
  console.error(
    `mac: ${odd === undefined ? 'name parts' : `there is no part '${odd}'`}: ${known.join(', ')}`,
  );
  process.exit(2);
}
if (process.platform !== 'darwin' && !flags.emulated) {
  console.error(`mac: Metal needs macOS; this is ${process.platform}: for a dry run: --emulated`);
  process.exit(2);
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const kit = resolve(flags.kit ?? join(root, 'gpu-kit'));
const out = resolve(process.env.OUT ?? join(root, 'gpu-results'));
const bring = [
  join(root, 'tools/gpu/bring.mjs'),
  '--metal',
  '--to',
  kit,
  ...(flags.emulated ? ['--emulated'] : []),
];
execFileSync(process.execPath, bring, { stdio: 'inherit' });
const details = join(out, 'details');
rmSync(details, { recursive: true, force: true });
mkdirSync(details, { recursive: true });

const library = join(kit, 'libmetal.so');
const environment = {
  ...process.env,
  OUT: out,
  QUERN_GPU_DETAILS: details,
  QUERN_GPU_SECONDS: String(secondsOfPart),
  ...(flags.small && { QUERN_GPU_SMALL: '1' }),
  ...(existsSync(library) && { QUERN_METAL_LIBRARY: library, QUERN_METAL_CACHE: '' }),
};

const run = (part) =>
  spawnSync(process.execPath, ['--no-warnings', join(kit, 'parts/run.mjs'), part], {
    env: environment,
    stdio: 'inherit',
  }).status === 0;

process.exitCode = parts.map(run).every(Boolean) ? 0 : 1;
