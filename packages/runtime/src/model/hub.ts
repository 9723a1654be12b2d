import { existsSync } from 'node:fs';
import module from 'node:module';
import type { ProgressListener } from '@quern/core';
import type * as Hub from '@quern/hub';
import { messageOf, RuntimeError } from '../error.js';
import { here } from '../here.js';
import type { NoticeListener } from '../notice.js';

/** What a download needs of a call's options. */
export interface Obtaining {
  /** True: no request. */
  readonly offline?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ProgressListener<'download'> | undefined;
  readonly onNotice?: NoticeListener;
}

const hubPackage = '@quern/hub';

/**
 * An optional package. The name is an argument: bundlers resolve a literal one, and fail where the package is not
 * installed. The CommonJS build requires it, as `importModule` does.
 */
async function importOptional(name: string): Promise<unknown> {
  if (here.endsWith('.cjs')) return module.createRequire(here)(name);
  return import(/* webpackIgnore: true */ /* @vite-ignore */ name);
}

/**
 * The path of a model by its name at the Hugging Face Hub, downloaded where the cache does not have it; undefined: the
 * id is no such name, or a path of that name exists.
 * @throws RuntimeError HUB_NOT_FOUND; HubError
 */
export async function obtainModel(id: string, options: Obtaining): Promise<string | undefined> {
  if (!id.includes(':') || existsSync(id)) return undefined;
  const hub = await importOptional(hubPackage).catch((cause: unknown) => cause);
  if (!isHub(hub)) {
    if (id.startsWith('hf:')) throw hubNotFound(id, hub);
    return undefined;
  }
  if (!hub.isHubName(id)) return undefined;
  const { offline, signal, onProgress, onNotice } = options;
  return (await hub.resolveModel(id, { offline, signal, onProgress, onNotice })).path;
}

const isHub = (loaded: unknown): loaded is typeof Hub =>
  typeof loaded === 'object' && loaded !== null && 'resolveModel' in loaded;

const hubNotFound = (id: string, cause: unknown): RuntimeError =>
  new RuntimeError(
    'HUB_NOT_FOUND',
    `${id} is the name of a model at the Hugging Face Hub; @quern/hub, which downloads it, cannot be loaded. To add it: npm install @quern/hub. ${messageOf(cause).split('\n')[0]}`,
    { cause },
  );
