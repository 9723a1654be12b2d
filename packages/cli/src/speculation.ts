import { type Model, optionSchemas, type SpeculateOptions } from '@quern/runtime';
import { type Command, Option } from 'commander';
import { withModel } from './load.js';
import { type LoadFlags, parserOf } from './options.js';

/** As commander gives them. */
export interface SpeculationFlags {
  readonly lookup?: boolean;
  readonly draft?: string;
  readonly draftMax?: number;
}

/** Options of commands that can guess tokens ahead. */
export const withSpeculation = (command: Command): Command =>
  command
    .option('--lookup', 'guess tokens from what the prompt and the answer repeat, and check several at once')
    .option('--draft <model>', 'guess tokens with a smaller model of the same vocabulary')
    .addOption(
      new Option('--draft-max <n>', 'most tokens to guess at once').argParser(
        parserOf(optionSchemas.SpeculateByLookup.maxDraft),
      ),
    );

/** Ends the program with what is wrong with the flags. */
export function needSpeculationFlags({ lookup, draft, draftMax }: SpeculationFlags, command: Command): void {
  if (lookup && draft !== undefined)
    command.error('error: --lookup and --draft are two ways to guess: give one of them');
  if (draftMax !== undefined && !lookup && draft === undefined)
    command.error('error: --draft-max says how many tokens to guess: give --lookup or --draft with it');
}

/** What the flags ask for; `model` is the one that `--draft` names. */
export function speculateOptions(
  { lookup, draftMax }: SpeculationFlags,
  model: Model | undefined,
): SpeculateOptions | undefined {
  const most = draftMax === undefined ? {} : { maxDraft: draftMax };
  if (model) return { kind: 'draft', model, ...most };
  return lookup ? { kind: 'lookup', ...most } : undefined;
}

/** Hands `use` what the flags ask for; a model that drafts is loaded before, and freed whatever happens. */
export async function withSpeculator<T>(
  flags: LoadFlags & SpeculationFlags,
  signal: AbortSignal,
  use: (speculate: SpeculateOptions | undefined) => Promise<T>,
): Promise<T> {
  if (flags.draft === undefined) return use(speculateOptions(flags, undefined));
  return withModel(flags.draft, flags, signal, (model) => use(speculateOptions(flags, model)));
}
