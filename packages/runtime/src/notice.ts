/** Where notices go: see `LoadOptions.onNotice`. */
export type NoticeListener = ((text: string) => void) | undefined;

/** Tells what must not stay unknown: to the application's listener, or as a warning of the process where it has none. */
export function giveNotice(onNotice: NoticeListener, text: string): void {
  if (onNotice) onNotice(text);
  else process.emitWarning(text, 'QuernWarning');
}
