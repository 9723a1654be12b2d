import { Argument, Command, InvalidArgumentError } from 'commander';
import { bashScript } from '../completion/bash.js';
import { fishScript } from '../completion/fish.js';
import { commandsOf } from '../completion/tree.js';
import { zshScript } from '../completion/zsh.js';
import { write } from '../terminal/write.js';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

type Shell = keyof typeof scripts;

/** The models that a shell offers: the demo and those of the cache. The scripts call it. */
async function modelNames(): Promise<string[]> {
  const { list, shortNames } = await import('@quern/hub');
  const cached = (await list().catch(() => [])).map(({ name }) => name);
  const short = Object.entries(shortNames).flatMap(([family, tags]) =>
    Object.keys(tags).map((tag) => `${family}:${tag}`),
  );
  return ['demo', ...cached, ...short];
}

async function completion(shell: Shell | 'models', _flags: object, command: Command): Promise<void> {
  if (shell === 'models') return write(`${(await modelNames()).join('\n')}\n`);
  await write(scripts[shell](commandsOf(command.parent!)));
}

const shells = Object.keys(scripts) as Shell[];

/** Also 'models', which the scripts call. */
function shellOf(text: string): Shell | 'models' {
  const found = ([...shells, 'models'] as const).find((name) => name === text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`It must be one of ${shells.join(', ')}.`);
}

const setUp = `
Set up, once:
  bash  echo 'eval "$(quern completion bash)"' >> ~/.bashrc
  zsh   echo 'eval "$(quern completion zsh)"' >> ~/.zshrc      (after compinit)
  fish  quern completion fish > ~/.config/fish/completions/quern.fish`;

export const completionCommand = (): Command =>
  new Command('completion')
    .description('print a script that completes commands, options and models in a shell')
    .addArgument(new Argument('<shell>').choices(shells).argParser(shellOf))
    .addHelpText('after', setUp)
    .action(completion);
