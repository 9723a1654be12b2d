/** Work that waits until the test lets it go on, and what is read of it meanwhile. */

/** Holds whoever passes until it is opened, or failed. */
export class Gate {
  private settle!: { resolve(): void; reject(error: Error): void };
  private readonly opened = new Promise<void>((resolve, reject) => {
    this.settle = { resolve, reject };
  });

  constructor() {
    this.opened.catch(() => {});
  }

  pass(): Promise<void> {
    return this.opened;
  }

  open(): void {
    this.settle.resolve();
  }

  fail(error: Error): void {
    this.settle.reject(error);
  }
}

interface Work<Piece, Result> extends AsyncIterable<Piece> {
  readonly result: Promise<Result>;
}

/** The same work; the gate is before the piece of this number. */
export function gated<Piece, Result>(
  begin: () => Work<Piece, Result>,
  gate: Gate,
  before: number,
): Work<Piece, Result> {
  const work = begin();
  return {
    async *[Symbol.asyncIterator]() {
      let number = 0;
      for await (const piece of work) {
        if (number++ === before) await gate.pass();
        yield piece;
      }
    },
    get result() {
      return gate.pass().then(() => work.result);
    },
  };
}

/** Reads a body until `seen` says that it is enough; then calls `then`, and reads the rest. */
export async function readUntil(
  response: Response,
  seen: (text: string) => boolean,
  then: () => void,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let waits = true;
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true });
    if (waits && seen(text)) then();
    waits &&= !seen(text);
  }
  return text;
}
