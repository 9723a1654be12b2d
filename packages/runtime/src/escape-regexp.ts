/** A pattern for the text itself, also with the flag u, and in a class of up to two characters. */
export const escapeRegExp = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
