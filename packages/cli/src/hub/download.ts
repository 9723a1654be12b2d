import type { HubOptions } from '@quern/hub';
import type { Command } from 'commander';
import { downloadProgress } from '../terminal/download-progress.js';
import { interruptible } from '../terminal/interrupt.js';
import { notice } from '../terminal/report.js';

/** As parsed by commander. */
export interface NameFlags {
  readonly offline?: boolean;
  readonly revision?: string;
}

/** Options of every command that takes the name of a model. */
export const withNameFlags = (command: Command): Command =>
  command
    .option('--offline', 'make no request: models by name come from the cache alone (also HF_HUB_OFFLINE=1)')
    .option('--revision <name>', 'branch, tag or commit of a model by name (default: main)');

/** Runs a call of @quern/hub with the flags and with progress on stderr; Ctrl-C ends it. */
export const download = <T>(
  { offline, revision }: NameFlags,
  call: (options: HubOptions) => Promise<T>,
): Promise<T> =>
  interruptible(async (signal) => {
    const { update, stop } = downloadProgress();
    const options = { revision, signal, onProgress: update, onNotice: notice, ...(offline && { offline }) };
    return await call(options).finally(stop);
  });
