import { messageOf } from './error.js';

/** Receives notices: see `LoadOptions.onNotice`. */
export type NoticeListener = ((text: string) => void) | undefined;

/** Gives an important notice: to the listener; as a process warning where there is none, or where it throws. */
export function giveNotice(onNotice: NoticeListener, text: string): void {
  try {
    (onNotice ?? warn)(text);
  } catch (error) {
    warn(`onNotice threw (${messageOf(error)}) at this notice: ${text}`);
  }
}

const warn = (text: string): void => process.emitWarning(text, 'QuernWarning');
