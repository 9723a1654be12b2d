import { Awaited } from './awaited.js';
import { MarkReader } from './mark-finder.js';

/** Takes the two kinds of text of an answer. */
export interface ThoughtsSink {
  thinking(text: string): void;
  /** The thoughts end. */
  thought(): void;
  answer(text: string): void;
}

/** Parts the thoughts at the start of an answer, between `<think>` and `</think>`, from what follows. */
export class Thoughts {
  private place: 'start' | 'inside' | 'behind' = 'start';
  private held = '';
  private readonly opening = new Awaited('<think>');
  private readonly closing = new MarkReader(['</think>']);

  /** @param open the prompt has opened the thoughts already */
  constructor(
    private readonly sink: ThoughtsSink,
    private readonly open: boolean,
  ) {}

  push(text: string): void {
    let at = 0;
    while (at < text.length)
      if (this.place === 'start') at = this.begin(text, at);
      else if (this.place === 'inside') at = this.think(text, at);
      else {
        this.sink.answer(text.slice(at));
        at = text.length;
      }
  }

  end(): void {
    const rest = this.held + this.closing.held;
    if (rest === '') return;
    if (this.place === 'inside' || this.open) this.sink.thinking(rest);
    else this.sink.answer(rest);
  }

  private begin(text: string, from: number): number {
    let at = from;
    let step: ReturnType<Awaited['step']> = 'more';
    while (at < text.length && step === 'more') {
      step = this.opening.step(text[at]!);
      if (step !== 'other') this.held += text[at++]!;
    }
    if (step === 'whole') this.place = 'inside';
    else if (step === 'other') this.leaveStart();
    if (step === 'whole') this.held = '';
    return at;
  }

  /** No mark opens thoughts: what is held belongs to the thoughts of the prompt, or to the answer. */
  private leaveStart(): void {
    this.place = this.open ? 'inside' : 'behind';
    if (this.open) this.sink.thinking(this.held);
    else if (this.held !== '') this.sink.answer(this.held);
    this.held = '';
  }

  private think(text: string, from: number): number {
    const { before, mark, end } = this.closing.read(text, from);
    if (before !== '') this.sink.thinking(before);
    if (mark === undefined) return end;
    this.place = 'behind';
    this.sink.thought();
    return end;
  }
}
