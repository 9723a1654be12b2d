/** Receives notices: see `LoadOptions.onNotice`. */
export type NoticeListener = ((text: string) => void) | undefined;

/** Gives an important notice: to the listener, else as a process warning. */
export function giveNotice(onNotice: NoticeListener, text: string): void {
  if (onNotice) onNotice(text);
  else process.emitWarning(text, 'QuernWarning');
}
