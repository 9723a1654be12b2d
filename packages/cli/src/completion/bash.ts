import { type CompletedCommand, type Expected, topCommands } from './tree.js';

/** A text between single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The line that answers with the words for a place. */
function reply(expected: Expected): string {
  switch (expected.kind) {
    case 'choices':
      return `_quern_words ${quoted(expected.choices.join(' '))}`;
    case 'model':
      return '_quern_models';
    case 'folder':
      return '_quern_folders';
    case 'file':
      return '_quern_files';
    case 'text':
      return ':';
  }
}

const key = (path: string): string => quoted(path);

function optionValues({ path, options }: CompletedCommand): string[] {
  return options.flatMap(({ long, short, value }) => {
    if (!value) return [];
    const names = [long, ...(short ? [short] : [])].map((name) => quoted(`${path} ${name}`));
    return `    ${names.join('|')}) ${reply(value)}; return ;;`;
  });
}

function optionNames({ path, options }: CompletedCommand): string {
  const names = options.flatMap(({ long, short }) => [long, ...(short ? [short] : [])]);
  return `    ${key(path)}) _quern_words ${quoted(names.join(' '))}; return ;;`;
}

/** The n-th argument; one of many also stands at all places after it. */
function argumentAt({ path, arguments: all, commands }: CompletedCommand): string[] {
  const lines = all.map(({ expected, variadic }, i) => {
    const place = variadic ? `${quoted(`${path} `)}*` : quoted(`${path} ${i}`);
    return `    ${place}) ${reply(expected)} ;;`;
  });
  const names = commands.map((each) => each.path.split(' ').at(-1));
  const below = `    ${quoted(`${path} 0`)}) _quern_words ${quoted(names.join(' '))} ;;`;
  return commands.length > 0 && all.length === 0 ? [below] : lines;
}

/** Options that take the next word, so that it is no argument. */
const taking = (commands: readonly CompletedCommand[]): string =>
  commands
    .flatMap(({ path, options }) =>
      options
        .filter(({ value }) => value)
        .flatMap(({ long, short }) =>
          [long, ...(short ? [short] : [])].map((name) => quoted(`${path} ${name}`)),
        ),
    )
    .join('|');

/** A completion script for bash from 3.2 on; needs no other package. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const tops = topCommands(commands).map(({ path }) => path);
  const deeper = commands.filter(({ path }) => path.includes(' ')).map(({ path }) => path);
  return `# bash completion of quern: eval "$(quern completion bash)"
# The word at the cursor is read from the line: ':' of hf:owner/name is no end of a word here.
_quern_words() { _quern_reply $(compgen -W "$1" -- "$_quern_word"); }
_quern_reply() {
  local colon="\${_quern_word%"\${_quern_word##*:}"}" each
  case "$COMP_WORDBREAKS" in *:*) ;; *) colon="" ;; esac
  for each in "$@"; do COMPREPLY+=("\${each#"$colon"}"); done
}
_quern_files() { compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$_quern_word")); }
_quern_folders() { compopt -o filenames 2>/dev/null; local IFS=$'\\n'; COMPREPLY=($(compgen -d -- "$_quern_word")); }
_quern_models() {
  case "$_quern_word" in
    */* | .* | ~*) case "$_quern_word" in hf:*) ;; *) _quern_files; return ;; esac ;;
  esac
  _quern_words "$(quern completion models 2>/dev/null)"
  local IFS=$'\\n'
  local each
  for each in $(compgen -f -X '!*.gguf' -- "$_quern_word") $(compgen -d -S / -- "$_quern_word"); do
    COMPREPLY+=("$(printf '%q' "$each")")
  done
  case "\${#COMPREPLY[@]} \${COMPREPLY[0]}" in '1 '*/) compopt -o nospace 2>/dev/null ;; esac
}
_quern() {
  COMPREPLY=()
  local line="\${COMP_LINE:0:COMP_POINT}" _quern_word command="" before="" place=0 i
  local words
  read -ra words <<< "$line"
  case "$line" in *[[:space:]]) words+=("") ;; esac
  _quern_word="\${words[\${#words[@]} - 1]}"
  for ((i = 1; i < \${#words[@]} - 1; i++)); do
    if [ -z "$command" ]; then
      case "\${words[i]}" in -*) ;; *) command="\${words[i]}" ;; esac
      continue
    fi
    case "$command $before" in ${taking(commands)}) before=""; continue ;; esac
    before=""
    case "\${words[i]}" in
      -*) before="\${words[i]}"; continue ;;
    esac
    case "$command \${words[i]}" in ${deeper.map(quoted).join('|') || "''"}) command="$command \${words[i]}"; place=0; continue ;; esac
    place=$((place + 1))
  done
  if [ -z "$command" ]; then _quern_words ${quoted([...tops, '--help', '--version'].join(' '))}; return; fi
  case "$command $before" in
${commands.flatMap(optionValues).join('\n')}
  esac
  case "$_quern_word" in -*) case "$command" in
${commands.map(optionNames).join('\n')}
  esac ;; esac
  case "$command $place" in
${[...commands].reverse().flatMap(argumentAt).join('\n')}
  esac
}
complete -F _quern quern
`;
}
