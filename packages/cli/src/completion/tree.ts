import { quernPackages } from '@quern/runtime';
import type { Command, Option } from 'commander';

/** What stands where a value or an argument is expected. */
export type Expected =
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  /** The name or the file of a model. */
  | { readonly kind: 'model' }
  | { readonly kind: 'file' }
  | { readonly kind: 'folder' }
  /** A text or a number: nothing can be completed. */
  | { readonly kind: 'text' };

export interface CompletedOption {
  /** '--kv' */
  readonly long: string;
  /** '-n' */
  readonly short?: string;
  readonly description: string;
  /** Absent: a flag. */
  readonly value?: Expected;
}

export interface CompletedArgument {
  readonly name: string;
  readonly expected: Expected;
  readonly variadic: boolean;
}

/** A command and what may follow it. */
export interface CompletedCommand {
  /** 'bench serve' */
  readonly path: string;
  readonly description: string;
  readonly options: readonly CompletedOption[];
  readonly arguments: readonly CompletedArgument[];
  readonly commands: readonly CompletedCommand[];
}

const files = /file|path|audio|out\b/;

function expectedOf(placeholder: string, choices: readonly string[] | undefined): Expected {
  if (choices !== undefined && choices.length > 0) return { kind: 'choices', choices };
  if (/folder/.test(placeholder)) return { kind: 'folder' };
  if (/model/.test(placeholder)) return { kind: 'model' };
  return { kind: files.test(placeholder) ? 'file' : 'text' };
}

/** What --backend takes: auto, and the installed backends by their short names. */
const backendNames = (): string[] => [
  'auto',
  ...quernPackages()
    .filter(({ quern }) => quern.backend !== undefined)
    .map(({ name }) => name.replace(/^@quern\/backend-/, '')),
];

/** '--kv <type>' → 'type' */
const placeholderOf = (flags: string): string => /[<[]\s*(.+?)\s*[>\]]$/.exec(flags)?.[1] ?? '';

function optionOf({
  long,
  short,
  flags,
  description,
  required,
  optional,
  argChoices,
}: Option): CompletedOption[] {
  if (!long) return [];
  const choices = long === '--backend' ? backendNames() : argChoices;
  const value = required || optional ? expectedOf(placeholderOf(flags), choices) : undefined;
  return [{ long, ...(short && { short }), description, ...(value && { value }) }];
}

/** Arguments whose completion is another than their names say. */
const special: Readonly<Record<string, Expected>> = {
  'inspect file': { kind: 'model' },
  'rm name': { kind: 'model' },
  'pull name': { kind: 'model' },
};

/** The command with all that its help shows. */
export function completedCommand(command: Command, parent = ''): CompletedCommand {
  const path = parent === '' ? command.name() : `${parent} ${command.name()}`;
  const help = command.createHelp();
  return {
    path,
    description: command.description(),
    options: help.visibleOptions(command).flatMap(optionOf),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      variadic: argument.variadic,
      expected: special[`${path} ${argument.name()}`] ?? expectedOf(argument.name(), argument.argChoices),
    })),
    commands: command.commands
      .filter((each) => help.visibleCommands(command).includes(each))
      .map((each) => completedCommand(each, path)),
  };
}

/** The commands of a program by their paths, without the program's name: 'run', 'bench', 'bench serve'. */
export function commandsOf(program: Command): readonly CompletedCommand[] {
  const help = program.createHelp();
  const flat = (command: CompletedCommand): CompletedCommand[] => [
    command,
    ...command.commands.flatMap(flat),
  ];
  return help.visibleCommands(program).flatMap((command) => flat(completedCommand(command)));
}

/** The commands that stand directly below the program. */
export const topCommands = (commands: readonly CompletedCommand[]): readonly CompletedCommand[] =>
  commands.filter(({ path }) => !path.includes(' '));
