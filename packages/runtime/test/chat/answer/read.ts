import { AnswerParser, type AnswerParserOptions } from '../../../src/chat/answer/index.js';

export interface Parted {
  text: string;
  thinking: string;
  calls: { id: string; name: string; arguments: string }[];
}

/** Reads an answer in chunks. */
export function part(chunks: readonly string[], options: AnswerParserOptions): Parted {
  let ids = 0;
  const parser = new AnswerParser({ newId: () => `id${ids++}`, ...options });
  const parted: Parted = { text: '', thinking: '', calls: [] };
  for (const event of [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.end()])
    if (event.type === 'call') {
      if (event.index !== parted.calls.length) throw new Error(`call ${event.index} comes out of order`);
      parted.calls.push({ id: event.id, name: event.name, arguments: '' });
    } else if (event.type === 'arguments') {
      if (event.index !== parted.calls.length - 1) throw new Error(`arguments of ${event.index} come late`);
      parted.calls[event.index]!.arguments += event.text;
    } else parted[event.type] += event.text;
  return parted;
}

/** Where to cut a text: shares of its length. */
export type Cuts = readonly number[] | 'every character';

export function cut(text: string, cuts: Cuts): string[] {
  if (cuts === 'every character') return text.split('');
  const places = [...new Set(cuts.map((share) => Math.floor(share * text.length)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => text.slice(from, places[i] ?? text.length));
}
