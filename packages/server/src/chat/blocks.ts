import type { GenerationResult, TokenLogprobs } from '@quern/runtime';
import type { TurnEvent } from './turn.js';

/** A part of an answer: text, thoughts, or a call of a tool with its arguments. */
export interface Block {
  readonly kind: 'text' | 'thinking' | 'call';
  readonly index: number;
  /** Of a call; '' for others. */
  readonly id: string;
  readonly name: string;
  /** The text, or the arguments as JSON text. */
  text: string;
  /** Of a text, where they were asked for. */
  readonly logprobs: TokenLogprobs[];
}

/** An answer as blocks, one after the other. */
export type BlockEvent =
  | { readonly type: 'open'; readonly block: Block }
  | {
      readonly type: 'delta';
      readonly block: Block;
      readonly text: string;
      readonly logprobs: readonly TokenLogprobs[];
    }
  | { readonly type: 'close'; readonly block: Block; readonly isCut: boolean }
  | ({ readonly type: 'end'; readonly blocks: readonly Block[] } & AnswerEnd);

/** How an answer ended. */
export type AnswerEnd = Pick<Extract<TurnEvent, { type: 'end' }>, 'result' | 'thinkingTokens'>;

/** Whether an answer ended before the model ended it. */
export const isCut = ({ reason }: GenerationResult): boolean => reason === 'length' || reason === 'context';

/** Parts the events of an answer into blocks. */
export async function* blocksOf(
  events: AsyncIterable<TurnEvent>,
): AsyncGenerator<BlockEvent, void, undefined> {
  const blocks: Block[] = [];
  let open: Block | undefined;
  const held = new HeldLogprobs();
  for await (const event of events) {
    const next = opens(event, open);
    if (open && (next || event.type === 'end'))
      yield { type: 'close', block: open, isCut: event.type === 'end' && isCut(event.result) };
    if (next) {
      open = { ...next, index: blocks.length, text: '', logprobs: [] };
      blocks.push(open);
      yield { type: 'open', block: open };
    }
    held.add(event, open);
    if (event.type === 'end') yield { ...event, blocks };
    else if ('text' in event && event.text !== '') {
      const logprobs = held.take();
      open!.text += event.text;
      open!.logprobs.push(...logprobs);
      yield { type: 'delta', block: open!, text: event.text, logprobs };
    }
  }
}

/** Log-probabilities of tokens whose text comes with a later one. */
class HeldLogprobs {
  private held: readonly TokenLogprobs[] = [];

  add(event: TurnEvent, open: Block | undefined): void {
    const isOfText = event.type === 'text' && !event.isThinking && (!open || open.kind === 'text');
    this.held = isOfText ? [...this.held, ...(event.logprobs ?? [])] : [];
  }

  take(): readonly TokenLogprobs[] {
    const taken = this.held;
    this.held = [];
    return taken;
  }
}

/** The block that an event begins, unless it goes on with the open one. */
function opens(event: TurnEvent, open: Block | undefined): Pick<Block, 'kind' | 'id' | 'name'> | undefined {
  if (event.type === 'call') return { kind: 'call', id: event.id, name: event.name };
  if (event.type !== 'text' && event.type !== 'thinking') return undefined;
  return open?.kind === event.type || event.text === '' ? undefined : { kind: event.type, id: '', name: '' };
}

/** All blocks of an answer, and its result. */
export async function wholeAnswer(
  events: AsyncIterable<TurnEvent>,
): Promise<{ readonly blocks: readonly Block[] } & AnswerEnd> {
  for await (const event of blocksOf(events)) if (event.type === 'end') return event;
  throw new Error('an answer without an end');
}
