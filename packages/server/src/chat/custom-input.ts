import { parseJson } from '@quern/runtime';

/** Where the text for a custom tool begins in the arguments of its function. */
const begin = /^\s*\{\s*"input"\s*:\s*"/;

/**
 * Characters of a JSON text and whole escapes, up to its end. The escape of the first half of a character waits for the
 * second half.
 */
const inside =
  /^(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u(?!d[89ab][\da-f]{2}(?:\\(?:u[\da-f]{0,3})?)?$)[\da-f]{4}))*/iu;

/** The text for a custom tool, out of the arguments of its function, `{"input": "…"}`, as they come. */
export class CustomInput {
  private unread = '';
  private isInside = false;
  /** What has been read. */
  text = '';

  /** @returns what more of the arguments adds to the text */
  add(args: string): string {
    this.unread += args;
    if (!this.isInside) {
      const found = begin.exec(this.unread);
      if (!found) return '';
      this.isInside = true;
      this.unread = this.unread.slice(found[0].length);
    }
    const [raw] = inside.exec(this.unread)!;
    this.unread = this.unread.slice(raw.length);
    const more = JSON.parse(`"${raw}"`) as string;
    this.text += more;
    return more;
  }
}

/** The whole text. Of arguments that were cut: what there is of it, or else the arguments as they are. */
export function customInput(args: string): string {
  try {
    const { input } = parseJson(args) as { readonly input: unknown };
    return typeof input === 'string' ? input : args;
  } catch {
    const found = new CustomInput();
    found.add(args);
    return found.text || args;
  }
}
