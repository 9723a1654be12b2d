import { type CompletedCommand, type CompletedOption, type Expected, topCommands } from './tree.js';

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A description inside of a specification of _arguments. */
const escaped = (text: string): string => text.replace(/[\\[\]:]/g, (each) => `\\${each}`);

function action(expected: Expected): string {
  switch (expected.kind) {
    case 'choices':
      return `(${expected.choices.map(escaped).join(' ')})`;
    case 'model':
      return '_quern_models';
    case 'folder':
      return '_files -/';
    case 'file':
      return '_files';
    case 'text':
      return '';
  }
}

function optionSpecs({ long, short, description, value }: CompletedOption): string[] {
  const tail = `[${escaped(description)}]${value ? `:value:${action(value)}` : ''}`;
  return [long, ...(short ? [short] : [])].map((name) => `      ${quoted(`*${name}${tail}`)}`);
}

const argumentSpecs = ({ arguments: all }: CompletedCommand): string[] =>
  all.map(({ name, variadic, expected }, i) => {
    const place = variadic ? '*' : String(i + 1);
    return `      ${quoted(`${place}:${escaped(name)}:${action(expected)}`)}`;
  });

const nameOf = ({ path }: CompletedCommand): string => path.split(' ').at(-1)!;

/** The commands below one come first: `bench serve` of `bench`. */
function caseOf(command: CompletedCommand): string {
  const below = command.commands.map(
    (each) =>
      `      ${nameOf(each)})\n        shift words; (( CURRENT-- ))\n${specs(each)}\n        return ;;`,
  );
  const inner = below.length === 0 ? '' : `      case $words[2] in\n${below.join('\n')}\n      esac\n`;
  const names = command.commands.map((each) => quoted(`${nameOf(each)}:${each.description}`)).join(' ');
  const first =
    names === '' ? '' : `      (( CURRENT == 2 )) && _describe command "(${names.replaceAll('"', '\\"')})"\n`;
  return `    ${command.path})\n${inner}${first}${specs(command)} ;;`;
}

const specs = (command: CompletedCommand): string =>
  `      _arguments -S \\\n${[...command.options.flatMap(optionSpecs), ...argumentSpecs(command)].join(' \\\n')}`;

/** A completion script for zsh: a file _quern in a folder of fpath, or `eval`. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  const tops = topCommands(commands);
  return `#compdef quern
# zsh completion of quern: eval "$(quern completion zsh)" after compinit, or a file named _quern in a folder of $fpath
_quern_models() {
  local -a names
  names=(\${(f)"$(quern completion models 2>/dev/null)"})
  _alternative 'models:model:compadd -a names' 'files:file:_files'
}
_quern() {
  if (( CURRENT == 2 )); then
    local -a commands
    commands=(
${tops.map(({ path, description }) => `      ${quoted(`${path}:${description}`)}`).join('\n')}
    )
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${tops.map(caseOf).join('\n')}
  esac
}
if [ "$funcstack[1]" = _quern ]; then _quern "$@"; else compdef _quern quern; fi
`;
}
