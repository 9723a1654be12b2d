// Runs the guide's first program under Bun and Deno, and compares its output with Node's.
// `node tools/guide/other-runtimes.mjs [BUN [DENO]]`: the commands; default `bun` and `deno`.
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { guideBlocks } from './blocks.mjs';
import { linkedApplication } from './run.mjs';

const [bun = 'bun', deno = 'deno'] = process.argv.slice(2);
const runtimes = [
  { command: process.execPath, args: [] },
  { command: bun, args: [] },
  { command: deno, args: ['run', '--allow-all'] },
];

const { source, output } = guideBlocks().find(({ name }) => name === 'README-1');
const folder = linkedApplication();
writeFileSync(join(folder, 'first.mjs'), source);
for (const { command, args } of runtimes) {
  const version = spawnSync(command, ['--version'], { encoding: 'utf8' });
  const name = `${command} ${version.stdout?.split('\n')[0] ?? ''}`;
  if (version.error) {
    console.log(`${name}: not installed`);
    continue;
  }
  const { stdout, stderr } = spawnSync(command, [...args, 'first.mjs'], { cwd: folder, encoding: 'utf8' });
  const same = stdout === output;
  console.log(`${name}: ${same ? 'the same text' : `differs\n${stdout}${stderr}`}`);
  if (!same) process.exitCode = 1;
}
rmSync(folder, { recursive: true });
