// npm's registry as this machine has it. Cases that need it are skipped where it does not answer: the packages are not at fault then.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { run, work } from './work.mjs';

export const upstream = execFileSync('npm', ['config', 'get', 'registry']).toString().trim();

/** What a case needs is not on this machine: a tool that npm did not fetch, an emulator. The case is skipped. */
export class Absent extends Error {}

/** Does npm get an answer of the registry now? With a cache of its own: npm takes what it has where the registry is silent. */
export function registryAnswers() {
  const cache = ['--cache', mkdtempSync(join(work, 'asked-'))];
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--fetch-timeout=20000'];
  return run('npm', ['view', 'npm', 'version', ...cache, ...patience, '--registry', upstream]).then(
    () => true,
    () => false,
  );
}
