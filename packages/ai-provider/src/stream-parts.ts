import type { LanguageModelV3StreamPart } from '@ai-sdk/provider';
import type { CallPiece, ChatPiece } from '@quern/runtime';

type Part = LanguageModelV3StreamPart;
type Open = { readonly kind: 'text' | 'reasoning'; readonly id: string } | OpenCall;
interface OpenCall {
  readonly kind: 'call';
  readonly id: string;
  readonly name: string;
  readonly index: number;
  arguments: string;
}

/** Turns the pieces of an answer into the SDK's parts: blocks of text, reasoning and calls, one after the other. */
export class StreamParts {
  private open: Open | undefined;
  private blocks = 0;

  *next({ thinking, text, calls }: ChatPiece): Generator<Part> {
    yield* this.words('reasoning', thinking);
    yield* this.words('text', text);
    for (const call of calls) yield* this.call(call);
  }

  /** The end of the open block. */
  *close(): Generator<Part> {
    const { open } = this;
    this.open = undefined;
    if (open?.kind === 'call') {
      yield { type: 'tool-input-end', id: open.id };
      yield { type: 'tool-call', toolCallId: open.id, toolName: open.name, input: open.arguments };
    } else if (open) yield { type: `${open.kind}-end`, id: open.id };
  }

  private *words(kind: 'text' | 'reasoning', delta: string): Generator<Part> {
    if (delta === '') return;
    if (this.open?.kind !== kind) {
      yield* this.close();
      this.open = { kind, id: `${kind}-${this.blocks++}` };
      yield { type: `${kind}-start`, id: this.open.id };
    }
    yield { type: `${kind}-delta`, id: this.open.id, delta };
  }

  private *call({ index, id, name, arguments: delta }: CallPiece): Generator<Part> {
    let { open } = this;
    if (open?.kind !== 'call' || open.index !== index) {
      yield* this.close();
      open = this.open = { kind: 'call', id, name, index, arguments: '' };
      yield { type: 'tool-input-start', id, toolName: name };
    }
    if (delta === '') return;
    open.arguments += delta;
    yield { type: 'tool-input-delta', id, delta };
  }
}
