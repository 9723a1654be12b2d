import type { Command } from 'commander';

/** How much a command says on stderr beside its answer. */
type Verbosity = 'quiet' | 'usual' | 'verbose';

let verbosity: Verbosity = 'usual';

/** Only the answer and errors are printed. */
export const isQuiet = (): boolean => verbosity === 'quiet';

/** Errors have their stacks and causes; the choice of a backend has its reasons. */
export const isVerbose = (): boolean => verbosity === 'verbose';

interface VerbosityFlags {
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** Gives a command, and those below it, the options that say how much it prints on stderr. */
export function withVerbosity(command: Command): Command {
  for (const below of command.commands) withVerbosity(below);
  return command
    .option('--quiet', 'print only the answer and errors: no progress, notices and summaries')
    .option('--verbose', 'print more on stderr: why this backend, and where an error comes from')
    .hook('preAction', (own, acting) => {
      if (own !== acting) return; // a command below it
      const { quiet, verbose } = acting.opts<VerbosityFlags>();
      if (quiet && verbose)
        acting.error('error: --quiet prints less and --verbose more: leave out one of them');
      verbosity = quiet ? 'quiet' : verbose ? 'verbose' : 'usual';
    });
}
