import { type KvSequence, onAbort } from '@quern/core';
import { RuntimeError } from '../error.js';
import { type Draws, noToken } from '../sampling/draws.js';
import type { Head, RowOutput } from './step-output.js';
import type { TokenChoice } from './token-choice.js';

/** Request for the tokens after a sequence's last one. */
export interface DecodeRequest {
  readonly sequence: KvSequence;
  /** The last token; it is not in the sequence yet. */
  readonly token: number;
  readonly choice: TokenChoice;
  /** Most tokens to return. */
  readonly most: number;
  /** End tokens. */
  readonly stops: Int32Array;
  readonly signal: AbortSignal | undefined;
}

/** Heads of decode steps. */
export type DecodeHead = Extract<Head, 'argmax' | 'sampled' | 'ranked'>;

/** A sequence in a decode batch. */
export class DecodeMember {
  readonly sequence: KvSequence;
  readonly tokens: readonly number[];
  readonly draws: Draws | undefined;
  /** Position of `token`; set by `grow`. */
  start = 0;

  constructor(
    readonly request: DecodeRequest,
    private readonly resolve: (tokens: readonly number[]) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.sequence = request.sequence;
    this.tokens = [request.token];
    this.draws = request.choice.draws;
  }

  get aborted(): boolean {
    return this.request.signal?.aborted === true;
  }

  /** Makes room for `count` tokens. False where there is no room: only this member's request rejects. */
  grow(count: number): boolean {
    this.start = this.sequence.length;
    try {
      if (this.aborted) throw aborted();
      this.sequence.append(count);
      return true;
    } catch (error) {
      this.reject(error);
      return false;
    }
  }

  /** Takes the token of a step. */
  settle(row: RowOutput): void {
    try {
      if (this.aborted) throw aborted();
      this.resolve([this.request.choice.take(row)]);
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * Takes the tokens of a chain. `noToken` at the first place is an error; at a later place it is dropped, and the next
   * step reports it.
   */
  settleChain(found: Int32Array): void {
    try {
      if (this.aborted) throw aborted();
      const count = found.length > 1 && found.at(-1) === noToken ? found.length - 1 : found.length;
      const tokens: number[] = [];
      for (let i = 0; i < count; i++)
        tokens.push(this.request.choice.take({ best: found.subarray(i, i + 1), logits: undefined }));
      this.sequence.truncate(this.start + count);
      this.resolve(tokens);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    this.sequence.truncate(Math.min(this.start, this.sequence.length));
    this.reject(error);
  }
}

/** The head with the least output that gives every member its token. */
export function headOf(members: readonly DecodeMember[], canDraw: boolean): DecodeHead {
  if (members.every(({ request }) => request.choice.head === 'argmax')) return 'argmax';
  const isDevices = ({ request, draws }: DecodeMember) => request.choice.head === 'argmax' || draws;
  return canDraw && members.every(isDevices) ? 'sampled' : 'ranked';
}

/** The tokens that end a row of a chain: `noToken` and the end tokens of all members. */
export function stopsOf(members: readonly DecodeMember[]): Int32Array {
  return Int32Array.from([noToken, ...members.flatMap(({ request }) => [...request.stops])]);
}

/** Calls `act` when any member is aborted. Returns a function that removes the listeners. */
export function onAbortOfAny(members: readonly DecodeMember[], act: () => void): () => void {
  const ends = members.map(({ request }) => request.signal && onAbort(request.signal, act));
  return () => {
    for (const end of ends) end?.();
  };
}

const aborted = () => new RuntimeError('ABORTED', 'aborted while a token was computed');
