import { createInterface } from 'node:readline/promises';
import { Interrupted, interrupt, onInterrupt } from '../terminal/interrupt.js';
import { markPastes, PasteFilter } from '../terminal/paste-filter.js';
import { PasteInput } from '../terminal/paste-input.js';
import { say } from '../terminal/report.js';
import { completeLine } from './complete-line.js';
import { Entry } from './entry.js';
import type { History } from './history.js';

const prompts = { first: '> ', more: '. ' } as const;

/** Entries from a terminal or a pipe, of one line or several. */
export class Lines {
  readonly interactive = Boolean(process.stdin.isTTY);
  private readonly filter = new PasteFilter();
  /** Lines are edited: input and output are terminals. */
  private readonly edits = this.interactive && Boolean(process.stderr.isTTY);
  private readonly input = this.edits ? new PasteInput(process.stdin, this.filter) : undefined;
  private readonly terminal;
  private readonly lines;
  private readonly stopListening = onInterrupt((by) => this.interrupted(new Interrupted(by)));
  private readonly entry = new Entry();
  private closed = false;
  /** The last key was Ctrl-C on an empty line. */
  private warned = false;
  private end: Interrupted | undefined;

  constructor(private readonly history: History) {
    this.terminal = createInterface({
      input: this.input ?? process.stdin,
      output: process.stderr,
      terminal: this.edits,
      completer: completeLine,
      history: [...history.lines].reverse(),
      historySize: 1000,
      removeHistoryDuplicates: true,
    });
    this.lines = this.terminal[Symbol.asyncIterator]();
    this.terminal.on('SIGINT', () => interrupt('SIGINT'));
    this.terminal.on('close', () => {
      this.closed = true;
    });
    if (this.edits) process.stderr.write(markPastes.on);
    process.once('exit', this.leave);
  }

  /** The next entry; undefined at the end of input. @throws Interrupted */
  async next(): Promise<string | undefined> {
    for (;;) {
      this.prompt();
      const { value, done } = await this.lines.next();
      this.warned = false;
      if (this.end) throw this.end;
      if (done) return this.entry.end();
      const entry = this.entry.add(this.edits ? await this.read(value) : value);
      if (entry !== undefined) return entry;
    }
  }

  close(): void {
    process.off('exit', this.leave);
    this.leave();
    this.stopListening();
    this.terminal.close();
    this.input?.release();
  }

  private readonly leave = (): void => {
    if (this.edits) process.stderr.write(markPastes.off);
  };

  /** The text of an edited line, which the history keeps. */
  private async read(line: string): Promise<string> {
    if (this.filter.isPlain(line)) await this.history.add(line.trim());
    return this.filter.expand(line);
  }

  private prompt(): void {
    if (!this.interactive || this.closed) return;
    this.terminal.setPrompt(this.entry.isOpen ? prompts.more : prompts.first);
    this.terminal.prompt();
  }

  /** Ctrl-C during input: clears the entry; a second Ctrl-C on the empty line ends the chat. */
  private interrupted(by: Interrupted): void {
    const mayStay = this.interactive && by.by === 'SIGINT';
    if (mayStay && (this.terminal.line !== '' || this.entry.isOpen)) this.clear();
    else if (mayStay && !this.warned) this.warn();
    else {
      this.end = by;
      this.terminal.close();
    }
  }

  private clear(): void {
    this.warned = false;
    this.entry.clear();
    this.terminal.setPrompt(prompts.first);
    this.terminal.write(null, { ctrl: true, name: 'e' });
    this.terminal.write(null, { ctrl: true, name: 'u' });
  }

  private warn(): void {
    this.warned = true;
    say('\nCtrl-C again, Ctrl-D or /exit ends the chat');
    this.terminal.prompt();
  }
}
