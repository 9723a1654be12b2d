import { createInterface } from 'node:readline/promises';
import { Interrupted, interrupt, onInterrupt } from '../terminal/interrupt.js';
import { say } from '../terminal/report.js';

/** Lines from a terminal or a pipe. */
export class Lines {
  readonly interactive = Boolean(process.stdin.isTTY);
  private readonly terminal = createInterface({
    input: process.stdin,
    output: process.stderr,
    prompt: '> ',
  });
  private readonly lines = this.terminal[Symbol.asyncIterator]();
  private readonly stopListening = onInterrupt((by) => this.interrupted(new Interrupted(by)));
  private closed = false;
  /** The last key was Ctrl-C on an empty line. */
  private warned = false;
  private end: Interrupted | undefined;

  constructor() {
    this.terminal.on('SIGINT', () => interrupt('SIGINT'));
    this.terminal.on('close', () => {
      this.closed = true;
    });
  }

  /** The next line; undefined at the end of input. @throws Interrupted */
  async next(): Promise<string | undefined> {
    if (this.interactive && !this.closed) this.terminal.prompt();
    const { value, done } = await this.lines.next();
    this.warned = false;
    if (this.end) throw this.end;
    return done ? undefined : value.trim();
  }

  close(): void {
    this.stopListening();
    this.terminal.close();
  }

  /** Ctrl-C during input: clears the line; a second Ctrl-C on the empty line ends the chat. */
  private interrupted(by: Interrupted): void {
    const mayStay = this.interactive && by.by === 'SIGINT';
    if (mayStay && this.terminal.line !== '') this.clear();
    else if (mayStay && !this.warned) this.warn();
    else {
      this.end = by;
      this.terminal.close();
    }
  }

  private clear(): void {
    this.warned = false;
    this.terminal.write(null, { ctrl: true, name: 'e' });
    this.terminal.write(null, { ctrl: true, name: 'u' });
  }

  private warn(): void {
    this.warned = true;
    say('\nCtrl-C again, Ctrl-D or /exit ends the chat');
    this.terminal.prompt();
  }
}
