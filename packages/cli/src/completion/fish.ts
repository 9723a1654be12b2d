import {
  type CompletedArgument,
  type CompletedCommand,
  type CompletedOption,
  type Expected,
  topCommands,
} from './tree.js';

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const models = '(quern completion models 2>/dev/null)';

/** What follows an option or stands at a place: flags of \`complete\`. */
function values(expected: Expected): string {
  switch (expected.kind) {
    case 'choices':
      return `-f -a ${quoted(expected.choices.join(' '))}`;
    case 'model':
      return `-F -a ${quoted(models)}`;
    case 'folder':
      return `-f -a '(__fish_complete_directories)'`;
    case 'file':
      return '-F';
    case 'text':
      return '-f';
  }
}

function optionLine(path: string, { long, short, description, value }: CompletedOption): string {
  const names = `-l ${long.replace(/^--/, '')}${short ? ` -s ${short.replace(/^-/, '')}` : ''}`;
  const tail = value ? ` -r ${values(value)}` : '';
  return `complete -c quern -n ${quoted(`__quern_at ${path}`)} ${names}${tail} -d ${quoted(description)}`;
}

function argumentLine(path: string, { expected, variadic }: CompletedArgument, place: number): string {
  const test = variadic ? `__quern_at ${path}` : `__quern_at ${path}; and test (__quern_place) -eq ${place}`;
  return `complete -c quern -n ${quoted(test)} ${values(expected)}`;
}

const lines = ({ path, options, arguments: all, commands }: CompletedCommand): string[] => [
  ...options.map((option) => optionLine(path, option)),
  ...all.map((argument, place) => argumentLine(path, argument, place)),
  ...commands.map(
    (each) =>
      `complete -c quern -n ${quoted(`__quern_at ${path}`)} -f -a ${each.path.split(' ').at(-1)} -d ${quoted(each.description)}`,
  ),
];

/** Options that take the next word, as 'run --kv'. */
const taking = (commands: readonly CompletedCommand[]): string[] =>
  commands.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value)
      .flatMap(({ long, short }) =>
        [long, ...(short ? [short] : [])].map((name) => quoted(`${path} ${name}`)),
      ),
  );

/** A completion script for fish from 3.0 on. */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const deeper = commands.filter(({ path }) => path.includes(' ')).map(({ path }) => quoted(path));
  return `# fish completion of quern: quern completion fish | source
set -g __quern_taking ${taking(commands).join(' ')}
set -g __quern_deeper ${deeper.join(' ')}
function __quern_words # the command in one word, then its arguments, all before the cursor
  set -l command ""
  set -l found
  set -l skips no
  for word in (commandline -opc)[2..]
    if test $skips = yes
      set skips no
    else if string match -q -- '-*' $word
      contains -- "$command $word" $__quern_taking; and set skips yes
    else if test -z "$command"
      set command $word
    else if contains -- "$command $word" $__quern_deeper
      set command "$command $word"
    else
      set -a found $word
    end
  end
  printf '%s\n' "$command" $found
end
function __quern_at
  test (__quern_words)[1] = "$argv"
end
function __quern_place
  math (count (__quern_words)) - 1
end
complete -c quern -f
${topCommands(commands)
  .map(({ path, description }) => `complete -c quern -n '__quern_at ""' -a ${path} -d ${quoted(description)}`)
  .join('\n')}
${commands.flatMap(lines).join('\n')}
`;
}
