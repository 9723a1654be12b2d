import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HubOptions } from '@quern/hub';
import { FakeHub } from './fake-hub.js';

/** A fake Hub and an empty cache for each test of a file. */
export interface HubTest {
  readonly hub: FakeHub;
  readonly cacheDir: string;
  /** Options for the fake Hub and the cache, without the environment of the test. */
  options(more?: HubOptions): HubOptions;
  /** A path below the folder of a repository in the cache. */
  at(repository: string, ...parts: string[]): string;
  /** Names in a folder; none where there is no folder. */
  names(folder: string): string[];
}

export function useHub(): HubTest {
  let hub: FakeHub;
  let cacheDir: string;
  beforeEach(async () => {
    hub = await FakeHub.start();
    cacheDir = mkdtempSync(join(tmpdir(), 'quern-hub-'));
  });
  afterEach(async () => {
    await hub.stop();
    rmSync(cacheDir, { recursive: true, force: true });
  });
  return {
    get hub() {
      return hub;
    },
    get cacheDir() {
      return cacheDir;
    },
    options: (more = {}) => ({
      cacheDir,
      endpoint: hub.endpoint,
      env: { HF_HOME: cacheDir },
      retryDelayMs: 0,
      partBytes: 50_000,
      ...more,
    }),
    at: (repository, ...parts) => join(cacheDir, `models--${repository.replace('/', '--')}`, ...parts),
    names: (folder) => (existsSync(folder) ? readdirSync(folder).sort() : []),
  };
}
