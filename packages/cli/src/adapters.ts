import { basename } from 'node:path';
import type { AdapterChoice } from '@quern/runtime';
import { type Command, InvalidArgumentError } from 'commander';
import { parserOf } from './options.js';

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

/** Without a name: that of the file or folder. */
function namedPath(text: string): readonly [name: string, path: string] {
  const [, name = basename(text).replace(/\.gguf$/i, ''), path = text] = isNamed.exec(text) ?? [];
  return [name, path];
}

/** Paths by name. */
export const adapterPaths = ({ adapter = [] }: AdapterFlags): Readonly<Record<string, string>> =>
  Object.fromEntries(adapter.map(namedPath));

/** Collects adapters of different names. */
function adapterList(text: string, before: readonly string[] = []): string[] {
  const [name] = namedPath(text);
  if (before.some((each) => namedPath(each)[0] === name))
    throw new InvalidArgumentError(
      `there is an adapter '${name}' already: give each a name of its own, name=path.`,
    );
  return [...before, text];
}

/** All adapters of the flags, for every call. */
export const adapterChoices = (flags: AdapterFlags): readonly AdapterChoice[] | undefined =>
  flags.adapter && Object.keys(adapterPaths(flags)).map((name) => ({ name, scale: flags.adapterScale ?? 1 }));

const flag = '--adapter <[name=]path>';
const about = 'LoRA adapter: a folder of PEFT or a GGUF file; may be repeated';

/** For commands whose calls use all adapters. */
export const withAdapters = (command: Command): Command =>
  command
    .option(flag, about, adapterList)
    .option('--adapter-scale <x>', 'factor of the adapters (default: 1)', finite);

/** For a server: requests name an adapter as their model. */
export const withNamedAdapters = (command: Command): Command =>
  command.option(flag, `${about}; requests name it as their model`, adapterList);
