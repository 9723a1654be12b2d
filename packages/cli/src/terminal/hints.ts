import type { Command } from 'commander';

/** Options of other programs, as commander names them in its errors, and what they are here. */
const known: Readonly<Record<string, string>> = {
  "unknown option '--gpu-layers'": '--split',
  "unknown option '--n-gpu-layers'": '--split',
  "argument 'gl' is invalid": '--split', // -ngl is read as -n gl
  "unknown option '-c'": '--ctx',
  "unknown option '--context'": '--ctx',
  "unknown option '--ctx-size'": '--ctx',
  ...named('--ctx', ['--ctx-len', '--context-length', '--max-model-len', '--num-ctx', '--num_ctx']),
  ...named('--max-tokens', [
    '--n-predict',
    '--predict',
    '--max-new-tokens',
    '--num-predict',
    '--num_predict',
  ]),
  ...named('--temperature', ['--temp']),
  ...named('--repeat-penalty', ['--repetition-penalty', '--repeat_penalty']),
  ...named('--system', ['--system-prompt', '-sys', '--sys']),
  ...named('--kv', ['--cache-type-k', '-ctk', '--cache-type-v', '-ctv', '--kv-cache-dtype']),
  ...named('--threads', ['-t']),
  ...named('--prompt', ['--text']),
  ...named('--schema', ['--json-schema', '-j']),
  ...named('--adapter', ['--lora']),
  ...named('--draft', ['--model-draft', '-md', '--speculative-model']),
  ...named('--sequences', ['--parallel', '-np', '--max-num-seqs']),
  ...named('--adapter-folder', ['--lora-dir']),
  ...named('--ping-interval', ['--sse-ping-interval']),
  ...named('--max-models', ['--models-max']),
  ...named('--keep-alive', ['--sleep-idle-seconds', '--keepalive']),
  ...named('--request-timeout', ['--timeout', '-to']),
  ...named('name=path', ['--alias', '-a', '--served-model-name']),
};

/** Other programs' options for one of Quern's. */
function named(own: string, others: readonly string[]): Record<string, string> {
  return Object.fromEntries(others.map((other) => [`unknown option '${other}'`, own]));
}

/** What is no option: it is hinted at where the command's arguments say it. */
const isArgument = (command: Command, hint: string): boolean =>
  command.registeredArguments.some(({ description }) => description.includes(hint));

/** Adds to a command's errors the option that a user of llama.cpp, vLLM or Ollama may mean. */
export const withHints = (command: Command): Command =>
  command.configureOutput({ outputError: (text, write) => write(hinted(command, text)) });

function hinted(command: Command, text: string): string {
  const [, flag] = Object.entries(known).find(([part]) => text.includes(part)) ?? [];
  const isHere =
    flag !== undefined &&
    (isArgument(command, flag) || command.options.some(({ long, short }) => [long, short].includes(flag)));
  if (!isHere) return text;
  const [error, ...rest] = text.split('\n').filter((line) => !line.startsWith('(Did you mean'));
  return [error, `(Did you mean ${flag}?)`, ...rest].join('\n');
}

/** Adds to the error of an option that stands before the command where it belongs. */
export const withPlaceHint = (root: Command): Command =>
  root.configureOutput({ outputError: (text, write) => write(placed(root, text)) });

function placed(root: Command, text: string): string {
  const [line, flag] = /^error: unknown option '([^'=]+).*'$/m.exec(text) ?? [];
  const owners = root.commands.filter((command) =>
    command.options.some(({ long, short }) => [long, short].includes(flag)),
  );
  if (line === undefined || owners.length === 0) return text;
  const usual = owners.find((command) => command.name() === 'run') ?? owners[0]!;
  return `${line}\n(${flag} stands after the command: quern ${usual.name()} … ${flag})\n`;
}
