import type { GenerationResult } from '@quern/runtime';
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
}

/** An answer as blocks, one after the other. */
export type BlockEvent =
  | { readonly type: 'open'; readonly block: Block }
  | { readonly type: 'delta'; readonly block: Block; readonly text: string }
  | { readonly type: 'close'; readonly block: Block; readonly isCut: boolean }
  | { readonly type: 'end'; readonly blocks: readonly Block[]; readonly result: GenerationResult };

/** Whether an answer ended before the model ended it. */
export const isCut = ({ reason }: GenerationResult): boolean => reason === 'length' || reason === 'context';

/** Parts the events of an answer into blocks. */
export async function* blocksOf(
  events: AsyncIterable<TurnEvent>,
): AsyncGenerator<BlockEvent, void, undefined> {
  const blocks: Block[] = [];
  let open: Block | undefined;
  for await (const event of events) {
    const next = opens(event, open);
    if (open && (next || event.type === 'end'))
      yield { type: 'close', block: open, isCut: event.type === 'end' && isCut(event.result) };
    if (next) {
      open = { ...next, index: blocks.length, text: '' };
      blocks.push(open);
      yield { type: 'open', block: open };
    }
    if (event.type === 'end') yield { type: 'end', blocks, result: event.result };
    else if ('text' in event && event.text !== '') {
      open!.text += event.text;
      yield { type: 'delta', block: open!, text: event.text };
    }
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
): Promise<{ blocks: readonly Block[]; result: GenerationResult }> {
  for await (const event of blocksOf(events)) if (event.type === 'end') return event;
  throw new Error('an answer without an end');
}
