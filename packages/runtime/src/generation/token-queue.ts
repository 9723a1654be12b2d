import type { SampledToken } from '../engine/sampling/params.js';

/** The tokens of one request, taken while the request computes further ones. */
export class TokenQueue {
  /** Resolves when the request has ended, also by an error. */
  readonly ended: Promise<void>;
  isOpen = true;
  private readonly tokens: SampledToken[] = [];
  private taken = 0;
  private failure: { readonly error: unknown } | undefined;
  private wake: (() => void) | undefined;

  /** @param request gives `onToken` the first of its tokens, or all; resolves with all of them */
  constructor(request: (onToken: (token: SampledToken) => void) => Promise<readonly SampledToken[]>) {
    this.ended = request((token) => this.add(token)).then(
      (all) => this.close(all.slice(this.tokens.length)),
      (error) => {
        this.failure = { error };
        this.close([]);
      },
    );
  }

  /** The next token; undefined: the request has no more. An error of the request comes after its tokens. */
  async next(): Promise<SampledToken | undefined> {
    while (this.taken === this.tokens.length && this.isOpen)
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    if (this.taken < this.tokens.length) return this.tokens[this.taken++];
    if (this.failure) throw this.failure.error;
    return undefined;
  }

  private add(token: SampledToken): void {
    this.tokens.push(token);
    this.wake?.();
  }

  private close(rest: readonly SampledToken[]): void {
    this.tokens.push(...rest);
    this.isOpen = false;
    this.wake?.();
  }
}
