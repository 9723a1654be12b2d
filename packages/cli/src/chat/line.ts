/** A parsed entry; `//text` is the message `/text`. */
export type Line =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'reset' | 'help' | 'exit' | 'nothing' }
  | { readonly kind: 'system' | 'save' | 'load'; readonly argument: string }
  | { readonly kind: 'unknown'; readonly command: string };

/** Names of commands, with those of other programs. */
const plain = {
  '/reset': 'reset',
  '/clear': 'reset',
  '/help': 'help',
  '/?': 'help',
  '/exit': 'exit',
  '/quit': 'exit',
  '/bye': 'exit',
} as const;
const withArgument = { '/system': 'system', '/save': 'save', '/load': 'load' } as const;

/** What Tab completes: of each command the usual name. */
export const commandNames: readonly string[] = [
  ...Object.keys(withArgument),
  ...['/reset', '/help', '/exit'],
];

/** The start of a chat. */
export const hint = '/help lists the commands; Ctrl-C stops an answer, Ctrl-D ends the chat';

export const help = `/system TEXT   sets the system message; - removes it; without a text, shows it
/save FILE     writes the conversation as JSON; --force FILE overwrites a file
/load FILE     goes on with a saved conversation
/reset         clears the conversation
/exit          ends the chat, as Ctrl-D does
//…            sends a message with a leading /
Several lines: Alt+Enter, or \\ at the end of a line, or """ before and after; pasted lines are one message
Up and Down: earlier messages; Tab: completes a command or a file; Ctrl-C stops an answer`;

const isName = <Names extends object>(names: Names, name: string): name is string & keyof Names =>
  Object.hasOwn(names, name);

export function readLine(line: string): Line {
  if (line === '') return { kind: 'nothing' };
  if (!line.startsWith('/')) return { kind: 'message', text: line };
  if (line.startsWith('//')) return { kind: 'message', text: line.slice(1) };
  if (isName(plain, line)) return { kind: plain[line] };
  const [, command = line, argument = ''] = /^(\S+)(?:\s+(.*))?$/s.exec(line) ?? [];
  return isName(withArgument, command)
    ? { kind: withArgument[command], argument }
    : { kind: 'unknown', command };
}
