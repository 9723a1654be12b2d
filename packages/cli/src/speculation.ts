import { type LoadOptions, type Model, optionSchemas, type SpeculateOptions } from '@quern/runtime';
import { type Command, Option } from 'commander';
import { withModel } from './load.js';
import { type LoadFlags, parserOf } from './options.js';

/** As parsed by commander. */
export interface SpeculationFlags {
  readonly lookup?: boolean;
  readonly draft?: string;
  readonly draftMax?: number;
}

/** Options of commands with speculative decoding. */
export const withSpeculation = (command: Command): Command =>
  command
    .option('--lookup', 'draft tokens from repetitions in prompt and answer, check several in one step')
    .option('--draft <model>', 'draft tokens with a smaller model with the same vocabulary')
    .addOption(
      new Option('--draft-max <n>', 'most drafted tokens per step').argParser(
        parserOf(optionSchemas.SpeculateByLookup.maxDraft),
      ),
    );

/** Ends the program for contradictory flags. */
export function needSpeculationFlags({ lookup, draft, draftMax }: SpeculationFlags, command: Command): void {
  if (lookup && draft !== undefined)
    command.error('error: --lookup and --draft exclude each other: give one of them');
  if (draftMax !== undefined && !lookup && draft === undefined)
    command.error('error: --draft-max limits drafted tokens: give --lookup or --draft with it');
}

/** The `speculate` option of the flags; `model` is --draft's. */
export function speculateOptions(
  { lookup, draftMax }: SpeculationFlags,
  model: Model | undefined,
): SpeculateOptions | undefined {
  const most = draftMax === undefined ? {} : { maxDraft: draftMax };
  if (model) return { kind: 'draft', model, ...most };
  return lookup ? { kind: 'lookup', ...most } : undefined;
}

/**
 * Calls `use` with the `speculate` option; loads --draft's model before, frees it after, also after an error. `room`:
 * options of its cache, for several calls.
 */
export async function withSpeculator<T>(
  flags: LoadFlags & SpeculationFlags,
  signal: AbortSignal,
  use: (speculate: SpeculateOptions | undefined) => Promise<T>,
  room?: LoadOptions,
): Promise<T> {
  if (flags.draft === undefined) return use(speculateOptions(flags, undefined));
  return withModel(flags.draft, flags, signal, (model) => use(speculateOptions(flags, model)), room);
}
