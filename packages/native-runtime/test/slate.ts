// Builds docs/examples/native-backend from its sources, with plain cmake.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PlanDriver } from '@quern/core';
import { loadAddon, type NativeOptions, nativeDriver, plainManifest } from '../src/index.js';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const build = at('../build/example');

/** Node finds the packages of the example beside backend-cpu. */
const env = { ...process.env, NODE_PATH: at('../../backend-cpu/node_modules') };

function compile(): string {
  mkdirSync(build, { recursive: true });
  const run = (...args: string[]) =>
    execFileSync('cmake', args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  run('-S', at('../../../docs/examples/native-backend'), '-B', build);
  run('--build', build, '--parallel', '2');
  return join(build, 'slate.node');
}

const binary = compile();

export const slateAddon = loadAddon({ packageName: 'slate', from: at('.'), candidates: [binary], help: [] });

export const slateDriver = (options: NativeOptions = {}): Promise<PlanDriver> =>
  nativeDriver(slateAddon, {
    name: 'slate',
    kind: 'gpu',
    manifest: plainManifest,
    capabilities: { pagedKv: { blockSizes: [16] }, kvQuant: { dtypes: ['bf16', 'int8', 'fp8'] } },
    options,
  });
