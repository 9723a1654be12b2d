import { checkArgument, type Option, type Rule, RunQueue, rules } from '@quern/core';
import { type Adapter, type ModelFile, openAdapter } from '@quern/models';
import type { AdapterUse } from '../engine/adapter-use.js';
import type { Engine } from '../engine/engine.js';
import { badArgument, badOption, RuntimeError } from '../error.js';
import { adapterIdentity } from './adapter-identity.js';

/** An adapter for a call, by the name it was loaded with. */
export interface AdapterChoice {
  readonly name: string;
  /** Factor of its change; default 1. Finite; below 0 it changes the opposite way. */
  readonly scale?: number | undefined;
}

export type AdapterChoices = string | AdapterChoice | readonly (string | AdapterChoice)[];

/** A loaded adapter. */
export interface LoadedAdapter {
  readonly name: string;
  /** Its folder or file. */
  readonly path: string;
  /** The largest rank of its matrices. */
  readonly rank: number;
  /** Bytes of its matrices in the file. */
  readonly byteLength: number;
  /** Calls that use it now. */
  readonly calls: number;
}

/** Most adapters of one call. */
const mostPerCall = 8;

const isChoice = (value: unknown): value is string | AdapterChoice =>
  typeof value === 'string' ||
  (rules.isObject(value) &&
    typeof value.name === 'string' &&
    (value.scale === undefined || Number.isFinite(value.scale)) &&
    Object.keys(value).every((key) => key === 'name' || key === 'scale'));

const choicesRule: Rule<AdapterChoices> = {
  must: `the name of an adapter, { name, scale }, or a list of at most ${mostPerCall} of these`,
  holds: (value): value is AdapterChoices =>
    isChoice(value) || (Array.isArray(value) && value.length <= mostPerCall && value.every(isChoice)),
};

export const adaptersOption: Option<AdapterChoices> = {
  ...choicesRule,
  about: 'LoRA adapters, by the names they were loaded with; several add up',
  absent: 'none',
};

/** A loaded adapter, and its calls. */
interface Entry {
  readonly identity: string;
  readonly name: string;
  readonly adapter: Adapter;
  calls: number;
  /** Called when its last call ends. */
  idle: (() => void) | undefined;
}

/** Adapters that a call uses until `end`. */
export interface AdapterLoan {
  readonly uses: readonly AdapterUse[];
  /** Ending twice is harmless. */
  end(): void;
}

/** The adapters of a model, by name. Their matrices lie on the model's backends, in stacks. */
export class Adapters {
  private readonly names = new Map<string, Entry>();
  /** By place in the stacks, from place 1 on. */
  private readonly places: (Entry | undefined)[] = [];
  private readonly changes = new RunQueue();
  private lastId = 0;

  /** @param stored whether other processes read blocks computed under the adapters */
  constructor(
    private readonly file: ModelFile,
    private readonly engine: Engine,
    private readonly stored: boolean,
  ) {}

  get loaded(): readonly LoadedAdapter[] {
    return Array.from(this.names.values(), ({ name, adapter: { path, rank, byteLength }, calls }) => ({
      ...{ name, path, rank, byteLength, calls },
    }));
  }

  /** Reads and loads an adapter. A failure changes nothing. */
  load(name: string, path: string, signal: AbortSignal | undefined): Promise<void> {
    checkArgument('loadAdapter', 'name', name, nameRule, badArgument);
    return this.changes.run(async () => {
      if (this.names.has(name)) throw badArgument(`there is an adapter '${name}': unload it first`, 'name');
      const adapter = await openAdapter(path, this.file, { signal });
      const identity = this.stored ? await adapterIdentity(adapter) : `adapter ${++this.lastId}`;
      const free = this.places.indexOf(undefined);
      const place = free < 0 ? this.places.length : free;
      const entry: Entry = { identity, name, adapter, calls: 0, idle: undefined };
      await this.engine.adapt(this.with(place, entry));
      this.places[place] = entry;
      this.names.set(name, entry);
    });
  }

  /** New calls cannot use the adapter; running ones go on. Its memory is free when they have ended. */
  async unload(name: string): Promise<void> {
    checkArgument('unloadAdapter', 'name', name, nameRule, badArgument);
    const entry = this.need(name);
    this.names.delete(name);
    if (entry.calls > 0)
      await new Promise<void>((resolve) => {
        entry.idle = resolve;
      });
    await this.changes.run(async () => {
      const place = this.places.indexOf(entry);
      await this.engine.adapt(this.with(place, undefined));
      this.places[place] = undefined;
    });
  }

  /** @throws RuntimeError ADAPTER_NOT_FOUND; BAD_OPTION for an adapter that comes twice */
  take(choices: AdapterChoices | undefined): AdapterLoan {
    if (choices === undefined) return nothing;
    const list = (Array.isArray(choices) ? choices : [choices]) as readonly (string | AdapterChoice)[];
    const chosen = list.map((choice) => {
      const { name, scale = 1 } = typeof choice === 'string' ? { name: choice } : choice;
      return { entry: this.need(name), scale };
    });
    const entries = chosen.map(({ entry }) => entry);
    if (new Set(entries).size < entries.length)
      throw badOption('an adapter may come once in adapters', 'adapters');
    for (const entry of entries) entry.calls++;
    const uses = chosen.map(({ entry, scale }) => ({
      identity: entry.identity,
      place: this.places.indexOf(entry) + 1,
      scale: scale * entry.adapter.scale,
    }));
    return { uses, end: once(() => entries.forEach(leave)) };
  }

  private need(name: string): Entry {
    const entry = this.names.get(name);
    if (entry) return entry;
    const known = [...this.names.keys()].map((each) => `'${each}'`).join(', ');
    throw new RuntimeError(
      'ADAPTER_NOT_FOUND',
      `there is no adapter '${name}'; ${known === '' ? 'none is loaded: model.loadAdapter(name, path)' : `known adapters: ${known}`}`,
    );
  }

  private with(place: number, entry: Entry | undefined): readonly (Adapter | undefined)[] {
    const entries = [...this.places];
    entries[place] = entry;
    return entries.map((each) => each?.adapter);
  }
}

const nameRule: Rule<string> = {
  must: 'a name of 1 to 200 characters',
  holds: (value): value is string => typeof value === 'string' && value.length > 0 && value.length <= 200,
};

const nothing: AdapterLoan = { uses: [], end: () => {} };

function leave(entry: Entry): void {
  if (--entry.calls === 0) entry.idle?.();
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}
