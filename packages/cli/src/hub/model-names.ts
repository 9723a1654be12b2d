import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { downloadProgress } from '../terminal/download-progress.js';
import { interruptible } from '../terminal/interrupt.js';

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

/** Arguments and options of commands that are models. */
const modelArguments: readonly string[] = ['model', 'file'];
const modelOptions: readonly string[] = ['model', 'draft'];

/**
 * Lets every MODEL of a command be a name of the Hugging Face Hub: before the command runs, the model is downloaded where
 * the cache does not have it, and its path takes the name's place. The path of an existing file stays a path.
 */
export function withModelNames(command: Command): Command {
  const options = command.options
    .map((each) => each.attributeName())
    .filter((name) => modelOptions.includes(name));
  const places = [...command.registeredArguments.entries()]
    .filter(([, argument]) => modelArguments.includes(argument.name()))
    .map(([place]) => place);
  if (options.length + places.length === 0) return command;
  return withNameFlags(command).hook('preAction', async (own, acting) => {
    if (own !== acting) return; // a command below it
    const flags = acting.opts<NameFlags>();
    for (const place of places)
      acting.processedArgs[place] = await localPaths(acting.processedArgs[place], flags);
    for (const name of options)
      acting.setOptionValue(name, await localPaths(acting.getOptionValue(name), flags));
  });
}

/** A path or name, a list of them, or no value. */
async function localPaths(given: unknown, flags: NameFlags): Promise<unknown> {
  if (typeof given === 'string') return localPath(given, flags);
  if (!Array.isArray(given)) return given;
  const paths: unknown[] = [];
  for (const each of given) paths.push(await localPaths(each, flags));
  return paths;
}

/** The name that `quern serve` gives a model: 'mine=hf:owner/name'. */
const named = /^([\w.:/@-]+=)(.+)$/s;

async function localPath(given: string, flags: NameFlags): Promise<string> {
  if (!given.includes(':') || existsSync(given)) return given;
  const [, before = '', text = given] = named.exec(given) ?? [];
  const { isHubName, resolveModel } = await import('@quern/hub'); // paths need no downloads
  if (existsSync(text) || !isHubName(text)) return given;
  const { path } = await interruptible(async (signal) => {
    const progress = downloadProgress();
    return await resolveModel(text, { ...hubFlags(flags), signal, onProgress: progress.update }).finally(
      progress.stop,
    );
  });
  return before + path;
}

/** The options of @quern/hub for the flags. */
export const hubFlags = ({ offline, revision }: NameFlags): { offline?: true; revision?: string } => ({
  ...(offline && { offline }),
  ...(revision !== undefined && { revision }),
});
