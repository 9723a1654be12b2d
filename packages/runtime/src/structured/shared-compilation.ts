import type { Grammar } from '@quern/grammar';

/** The compiling of a grammar for all calls that wait for it. It ends where all of them are aborted. */
export class SharedCompilation {
  private readonly controller = new AbortController();
  private readonly grammar: Promise<Grammar>;
  private waiting = 0;
  private isDone = false;

  constructor(compile: (signal: AbortSignal) => Promise<Grammar>) {
    this.grammar = compile(this.controller.signal).finally(() => {
      this.isDone = true;
    });
    this.grammar.catch(() => {}); // those who wait get the error
  }

  /** No call may begin to wait for it any more. */
  get isAborted(): boolean {
    return this.controller.signal.aborted;
  }

  async wait(signal: AbortSignal | undefined): Promise<Grammar> {
    this.waiting++;
    const leave = () => {
      if (--this.waiting === 0 && !this.isDone) this.controller.abort();
    };
    if (signal?.aborted) leave();
    else signal?.addEventListener('abort', leave, { once: true });
    try {
      return await this.grammar;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }
}
