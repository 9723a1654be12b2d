/** A part of an answer, in the order in which the model wrote it. */
export type AnswerEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly text: string }
  /** A call begins. `index`: 0, 1, 2 … in the answer. `id`: nine letters and digits, as Mistral's templates demand. */
  | { readonly type: 'call'; readonly index: number; readonly id: string; readonly name: string }
  /** More of a call's arguments: all texts of one index, joined, are JSON text. */
  | { readonly type: 'arguments'; readonly index: number; readonly text: string };

/** A whole call. `arguments`: JSON text of an object, unless the model broke off or did not write JSON. */
export interface AnswerCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Adds an event to a list; joins texts of one kind. */
export function addEvent(events: AnswerEvent[], event: AnswerEvent): void {
  const last = events[events.length - 1];
  if (event.type === 'call' || last?.type !== event.type) {
    events.push(event);
    return;
  }
  const sameCall = event.type !== 'arguments' || (last.type === 'arguments' && last.index === event.index);
  if (sameCall && 'text' in last) events[events.length - 1] = { ...last, text: last.text + event.text };
  else events.push(event);
}
