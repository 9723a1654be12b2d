import { readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CacheState } from '@quern/hub';
import { historyPath } from '../chat/history-path.js';
import { showBytes } from '../terminal/bytes.js';
import type { Findings } from './finding.js';

export interface CacheReport {
  readonly models: CacheState | { readonly error: string };
  /** Compiled kernels and measured rates of GPUs. */
  readonly kernels: { readonly path: string; readonly bytes: number };
  /** The lines typed in chats; absent: none are kept. */
  readonly chatHistory?: { readonly path: string; readonly bytes: number };
}

const sizeOf = (path: string): number => {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
};

function bytesBelow(folder: string): number {
  try {
    const files = readdirSync(folder, { withFileTypes: true, recursive: true });
    return files
      .filter((file) => file.isFile())
      .reduce((sum, file) => sum + sizeOf(join(file.parentPath ?? file.path, file.name)), 0);
  } catch {
    return 0;
  }
}

/** As the native `user_cache_folder` (native/quern/user-cache.h). */
function kernelFolder(env: NodeJS.ProcessEnv): string {
  const own = process.platform === 'win32' ? env.LOCALAPPDATA : undefined;
  return join(env.XDG_CACHE_HOME || own || join(homedir(), '.cache'), 'quern');
}

async function modelCache(): Promise<CacheReport['models']> {
  try {
    const { inspectCache } = await import('@quern/hub');
    return await inspectCache();
  } catch (error) {
    return { error: (error as Error).message };
  }
}

export async function cacheReport(env: NodeJS.ProcessEnv): Promise<CacheReport> {
  const [kernels, history] = [kernelFolder(env), historyPath(env)];
  return {
    models: await modelCache(),
    kernels: { path: kernels, bytes: bytesBelow(kernels) },
    ...(history !== '' && { chatHistory: { path: history, bytes: sizeOf(history) } }),
  };
}

/** Small models have about this many bytes. */
const smallModel = 1e9;

export function cacheFindings({ models }: CacheReport): Findings {
  if ('error' in models)
    return {
      faults: [
        { what: `the cache of models: ${models.error}`, help: 'quern pull --help lists the variables' },
      ],
      notes: [],
    };
  const { path, exists, unwritable, freeBytes = Number.POSITIVE_INFINITY, incompleteBytes } = models;
  if (unwritable !== undefined) {
    const where = exists ? path : `${path}, which does not exist yet,`;
    return {
      faults: [
        {
          what: `the cache of models ${where} cannot be written (${unwritable}): models that are there load, others cannot be downloaded`,
          help: `chown -R "$USER" ${exists ? path : dirname(path)}, or HF_HUB_CACHE=FOLDER with a folder of your own`,
        },
      ],
      notes: [],
    };
  }
  const notes = [];
  if (freeBytes < smallModel)
    notes.push({
      what: `the disk of ${path} has ${showBytes(freeBytes)} free: too little for most models`,
      help: 'quern ls lists models, quern rm NAME removes one; or HF_HUB_CACHE=FOLDER on another disk',
    });
  if (incompleteBytes > 0)
    notes.push({
      what: `downloads of ${showBytes(incompleteBytes)} have not ended`,
      help: 'quern pull NAME resumes one; quern rm NAME removes it',
    });
  return { faults: [], notes };
}
