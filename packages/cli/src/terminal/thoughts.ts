const DIM = '\u001b[2m';
const NOT_DIM = '\u001b[22m';

/** What a model thinks before it answers, on stderr: dim on a terminal, otherwise between `<think>` and `</think>`. */
export class Thoughts {
  private open = false;
  private readonly dim = process.stderr.isTTY && !process.env.NO_COLOR;

  /** @param shown false: nothing is written */
  constructor(private readonly shown: boolean) {}

  /** Writes the thoughts of a piece; ends them where its answer begins. */
  show({ text, thinking = '' }: { readonly text: string; readonly thinking?: string }): void {
    if (!this.shown) return;
    if (thinking !== '') {
      if (!this.open && !this.dim) process.stderr.write('<think>\n');
      this.open = true;
      process.stderr.write(this.dim ? `${DIM}${thinking}${NOT_DIM}` : thinking);
    }
    if (text !== '') this.end();
  }

  /** The thoughts are over. Ending twice is harmless. */
  end(): void {
    if (this.open) process.stderr.write(this.dim ? '\n\n' : '\n</think>\n');
    this.open = false;
  }
}
