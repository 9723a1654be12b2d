const quotes = '"""';

/** Puts lines together to entries: `\` at the end of a line goes on, `"""` begins and ends an entry of several lines. */
export class Entry {
  private lines: string[] = [];
  private inQuotes = false;

  /** Whether lines of an entry are there already. */
  get isOpen(): boolean {
    return this.lines.length > 0;
  }

  /** Takes a line; gives the entry that it ends. */
  add(line: string): string | undefined {
    if (!this.isOpen && line.trimStart().startsWith(quotes)) {
      this.inQuotes = true;
      return this.quoted(line.trimStart().slice(quotes.length));
    }
    if (this.inQuotes) return this.quoted(line);
    const goesOn = /(^|[^\\])\\$/.test(line);
    this.lines.push(goesOn ? line.slice(0, -1) : line);
    return goesOn ? undefined : this.end();
  }

  /** Gives what is there as an entry, as at the end of the input; undefined: nothing is. */
  end(): string | undefined {
    if (!this.isOpen) return undefined;
    const text = this.lines.join('\n');
    this.clear();
    return text.trim();
  }

  clear(): void {
    this.lines = [];
    this.inQuotes = false;
  }

  private quoted(line: string): string | undefined {
    const closes = line.trimEnd().endsWith(quotes);
    this.lines.push(closes ? line.trimEnd().slice(0, -quotes.length) : line);
    return closes ? this.end() : undefined;
  }
}
