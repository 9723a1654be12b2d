import { stringifyJson } from '@quern/runtime';
import { type Item, idOfItem } from './requests/response-items.js';

/** An answer that later requests may refer to. */
export interface StoredAnswer {
  readonly response: { readonly id: string };
  /** The conversation that it answers, and its own items. All have ids. */
  readonly input: readonly Item[];
  readonly output: readonly Item[];
}

interface Entry {
  readonly answer: StoredAnswer;
  readonly owner: string;
  readonly bytes: number;
  readonly items: ReadonlyMap<unknown, Item>;
}

/** Answers in memory, up to a number and a size; the least recently used ones go first. */
export class StoredAnswers {
  /** By id; the least recently used one is the first. */
  private readonly entries = new Map<string, Entry>();
  private bytes = 0;

  constructor(
    private readonly maxCount: number,
    private readonly maxBytes: number,
  ) {}

  get count(): number {
    return this.entries.size;
  }

  /** Whether answers are kept at all. */
  get isOn(): boolean {
    return this.maxCount > 0 && this.maxBytes > 0;
  }

  /** @param owner whose requests may refer to the answer */
  add(owner: string, answer: StoredAnswer): void {
    const bytes = Buffer.byteLength(stringifyJson([answer.response, answer.input]) ?? '');
    if (bytes > this.maxBytes) return;
    const items = new Map([...answer.input, ...answer.output].map((item) => [idOfItem(item), item]));
    this.entries.set(answer.response.id, { answer, owner, bytes, items });
    this.bytes += bytes;
    for (const id of this.entries.keys()) {
      if (this.entries.size <= this.maxCount && this.bytes <= this.maxBytes) return;
      this.remove(id);
    }
  }

  find(owner: string, id: string): StoredAnswer | undefined {
    const entry = this.entries.get(id);
    if (entry?.owner !== owner) return undefined;
    this.entries.delete(id);
    this.entries.set(id, entry);
    return entry.answer;
  }

  /** An item of any of the owner's answers, or of the conversation before them. */
  findItem(owner: string, id: string): Item | undefined {
    const entries = [...this.entries.values()].reverse();
    const found = entries.find((entry) => entry.owner === owner && entry.items.has(id));
    if (found) this.find(owner, found.answer.response.id);
    return found?.items.get(id);
  }

  /** Whether there was such an answer. */
  delete(owner: string, id: string): boolean {
    if (this.entries.get(id)?.owner !== owner) return false;
    this.remove(id);
    return true;
  }

  private remove(id: string): void {
    this.bytes -= this.entries.get(id)?.bytes ?? 0;
    this.entries.delete(id);
  }
}
