/** A parsed line; `//text` is the message `/text`. */
export type Line =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'reset' | 'help' | 'exit' | 'nothing' }
  | { readonly kind: 'unknown'; readonly command: string };

const commands = ['reset', 'help', 'exit'] as const;

export const help =
  '/reset clears the conversation, /exit (or Ctrl-D) ends it, /help shows this; //… sends a message with a leading /; Ctrl-C stops an answer';

export function readLine(line: string): Line {
  if (line === '') return { kind: 'nothing' };
  if (!line.startsWith('/')) return { kind: 'message', text: line };
  if (line.startsWith('//')) return { kind: 'message', text: line.slice(1) };
  const kind = commands.find((name) => line === `/${name}`);
  return kind ? { kind } : { kind: 'unknown', command: line.split(/\s/, 1)[0]! };
}
