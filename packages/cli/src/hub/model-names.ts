import { existsSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { download, type NameFlags, withNameFlags } from './download.js';

/** Arguments and options of commands that are models. */
const modelArguments: readonly string[] = ['model', 'file'];
const modelOptions: readonly string[] = ['model', 'draft'];

/**
 * Lets every MODEL of a command be a name of the Hugging Face Hub: before the command runs, the model is downloaded where
 * the cache does not have it, and its path takes the name's place. The path of an existing file stays a path.
 */
export function withModelNames(command: Command): Command {
  const places = command.registeredArguments.flatMap((argument, place) =>
    modelArguments.includes(argument.name()) ? [place] : [],
  );
  const options = command.options
    .map((option) => option.attributeName())
    .filter((name) => modelOptions.includes(name));
  if (places.length + options.length === 0) return command;
  return withNameFlags(command).hook('preAction', async (own, acting) => {
    if (own !== acting) return; // a command below it
    for (const place of places)
      acting.processedArgs[place] = await replaced(acting.processedArgs[place], acting.opts());
    for (const name of options) await replaceOption(acting, name);
  });
}

async function replaceOption(command: Command, name: string): Promise<void> {
  const given: unknown = command.getOptionValue(name);
  if (typeof given !== 'string') return;
  const path = await localPath(given, command.opts());
  command.setOptionValueWithSource(name, path, command.getOptionValueSource(name));
}

/** A model, the models of `quern serve`, or no value. */
async function replaced(given: unknown, flags: NameFlags): Promise<unknown> {
  if (typeof given === 'string') return localPath(given, flags);
  if (!Array.isArray(given)) return given;
  const paths: string[] = [];
  for (const each of given) paths.push(await servedPath(String(each), flags));
  return paths;
}

/** `name=path` of `quern serve`. A folder of the cache is called after a commit: its model has the repository's name. */
async function servedPath(given: string, flags: NameFlags): Promise<string> {
  const [, name, text = given] = (!existsSync(given) && /^([\w.:/@-]+)=(.+)$/s.exec(given)) || [];
  const path = await localPath(text, flags);
  if (name !== undefined) return `${name}=${path}`;
  const isFolder = path !== text && statSync(path).isDirectory();
  return isFolder ? `${/\/([\w.-]+)/.exec(text)?.[1] ?? text}=${path}` : path;
}

async function localPath(given: string, flags: NameFlags): Promise<string> {
  if (!given.includes(':') || existsSync(given)) return given;
  const { isHubName, resolveModel } = await import('@quern/hub'); // paths need no downloads
  if (!isHubName(given)) return given;
  return (await download(flags, (options) => resolveModel(given, options))).path;
}
