export type Notice = (text: string) => void;

export type Unread = 'an image' | 'a sound' | 'a file';

/** What stands where something was that this model cannot read. */
export function placeholder(what: Unread, notice: Notice): string {
  notice(`this model reads no images, sounds or files: a text says that there was ${what}`);
  return `[${what} that you cannot read]`;
}
