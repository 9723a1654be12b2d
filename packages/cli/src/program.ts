import { Command } from 'commander';
import { benchCommand } from './commands/bench.js';
import { chatCommand } from './commands/chat.js';
import { completionCommand } from './commands/completion.js';
import { devicesCommand } from './commands/devices.js';
import { doctorCommand } from './commands/doctor.js';
import { embedCommand } from './commands/embed.js';
import { inspectCommand } from './commands/inspect.js';
import { logitsCommand } from './commands/logits.js';
import { lsCommand } from './commands/ls.js';
import { pullCommand } from './commands/pull.js';
import { quantizeCommand } from './commands/quantize.js';
import { rerankCommand } from './commands/rerank.js';
import { rmCommand } from './commands/rm.js';
import { runCommand } from './commands/run.js';
import { serveCommand } from './commands/serve.js';
import { tokenizeCommand } from './commands/tokenize.js';
import { transcribeCommand } from './commands/transcribe.js';
import { verifyCommand } from './commands/verify.js';
import { withExamples } from './examples.js';
import { withModelNames } from './hub/model-names.js';
import { version } from './own-package.js';
import { exitHelp } from './terminal/exit-status.js';
import { withHints, withPlaceHint } from './terminal/hints.js';
import { withVerbosity } from './terminal/verbosity.js';

/** Prints a command's help. */
const helpCommand = (root: Command): Command =>
  new Command('help')
    .description("show a command's help")
    .argument('[command]')
    .action((name: string | undefined) => {
      const found = root.commands.find((command) => command.name() === name);
      if (name !== undefined && !found)
        root.error(
          `error: there is no command '${name}'; commands: ${root.commands.map((each) => each.name()).join(', ')}`,
        );
      (found ?? root).outputHelp();
    });

/** The `quern` command. */
export function program(): Command {
  const root = new Command('quern')
    .description('Run language models on your own machine.')
    .version(version)
    .enablePositionalOptions() // also `bench` needs it here
    .helpCommand(false) // commander's own prints the general help for an unknown command
    .showHelpAfterError('(quern --help tells more)');
  for (const command of [
    runCommand(),
    chatCommand(),
    embedCommand(),
    rerankCommand(),
    tokenizeCommand(),
    logitsCommand(),
    inspectCommand(),
    devicesCommand(),
    doctorCommand(),
    serveCommand(),
    benchCommand(),
    transcribeCommand(),
    quantizeCommand(),
    verifyCommand(),
    pullCommand(),
    lsCommand(),
    rmCommand(),
    completionCommand(),
  ])
    root.addCommand(withExamples(withVerbosity(withModelNames(withHints(command)))));
  root.addCommand(helpCommand(root));
  root.addHelpText(
    'after',
    `\nquern alone shows the devices and models that are here, and offers a demo.\nMODEL is a GGUF file, a folder with config.json and safetensors, \`demo\`, or a name of the Hugging Face Hub: hf:Qwen/Qwen3-0.6B-GGUF, qwen3:0.6b.\n${exitHelp}`,
  );
  return withPlaceHint(root);
}
