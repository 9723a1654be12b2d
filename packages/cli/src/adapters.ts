import { basename } from 'node:path';
import type { AdapterChoice } from '@quern/runtime';
import type { Command } from 'commander';
import { list, parserOf } from './options.js';

export interface AdapterFlags {
  /** 'path' or 'name=path', each. */
  readonly adapter?: readonly string[];
  readonly adapterScale?: number;
}

const finite = parserOf({
  must: 'a number',
  holds: (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value),
});

const isNamed = /^([\w.-]+)=(.+)$/s;

/** Paths by name; without a name: that of the file or folder. */
export function adapterPaths({ adapter = [] }: AdapterFlags): Readonly<Record<string, string>> {
  const paths: Record<string, string> = {};
  for (const each of adapter) {
    const [, name = basename(each).replace(/\.gguf$/i, ''), path = each] = isNamed.exec(each) ?? [];
    paths[name] = path;
  }
  return paths;
}

/** All adapters of the flags, for every call. */
export const adapterChoices = (flags: AdapterFlags): readonly AdapterChoice[] | undefined =>
  flags.adapter && Object.keys(adapterPaths(flags)).map((name) => ({ name, scale: flags.adapterScale ?? 1 }));

const flag = '--adapter <[name=]path>';
const about = 'LoRA adapter: a folder of PEFT or a GGUF file; may be repeated';

/** For commands whose calls use all adapters. */
export const withAdapters = (command: Command): Command =>
  command
    .option(flag, about, list)
    .option('--adapter-scale <x>', 'factor of the adapters (default: 1)', finite);

/** For a server: requests name an adapter as their model. */
export const withNamedAdapters = (command: Command): Command =>
  command.option(flag, `${about}; requests name it as their model`, list);
