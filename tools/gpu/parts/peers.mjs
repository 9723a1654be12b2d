// The same work by PyTorch, where there is one: peers.py.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { detailPath, kit, secondsLeft, small, writeResults } from './setting.mjs';

const report = detailPath('peers.json');
rmSync(report, { force: true });
const args = [
  join(kit, 'parts/peers.py'),
  report,
  String(Math.round(secondsLeft())),
  ...(small ? ['--small'] : []),
];
const { status, error } = spawnSync('python3', args, {
  stdio: 'inherit',
  timeout: Math.round(1000 * Math.max(1, secondsLeft())),
});
const peers = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined;
if (!peers) console.log(`skipped: ${error ? 'there is no python3' : `peers.py ended with ${status}`}`);
writeResults('peers', { peers: peers ?? null });
if (peers && status !== 0) process.exitCode = 1;
