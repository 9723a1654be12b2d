import { yieldToEventLoop } from '@quern/core';
import type { Tokenizer } from '@quern/runtime';
import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { modelFor } from '../models.js';
import { modelName, notSupported, orNull } from '../requests/fields.js';
import { parse } from '../requests/parse.js';
import { mostInputs } from './embeddings.js';
import { orTeiError } from './tei.js';

const request_ = z.strictObject({
  model: modelName,
  inputs: z.union([z.string(), z.array(z.string()).min(1).max(mostInputs)], {
    error: `must be a text, or a list of up to ${mostInputs} texts`,
  }),
  add_special_tokens: orNull(z.boolean()),
  prompt_name: notSupported('prompt_name'),
});

/** POST /tokenize with `inputs`, in the form of text-embeddings-inference: a list of tokens for each text */
export const teiTokenize = (json: unknown, context: ServerContext, call: Call): Promise<Response> =>
  orTeiError(call, async () => {
    const body = parse(request_, json, call);
    const { model } = await modelFor(context, call, 'embedding', body);
    const { tokenizer } = model;
    const lists: (readonly object[])[] = [];
    for (const text of [body.inputs].flat())
      lists.push(await tokensOf(text, body.add_special_tokens ?? true, tokenizer));
    return lists;
  });

/** Tokens that are shown without a break for other requests. */
const inOneTurn = 4096;

/** `special`: written by the tokenizer around the text. */
async function tokensOf(input: string, adds: boolean, tokenizer: Tokenizer): Promise<readonly object[]> {
  const ids = await tokenizer.encodeInTurns(input, adds ? {} : { addBos: false, addEos: false });
  const last = ids.length - 1;
  const places = new Places(input, tokenizer);
  const shown: object[] = [];
  for (const [index, id] of ids.entries()) {
    const special = adds && ((index === 0 && tokenizer.addBos) || (index === last && tokenizer.addEos));
    const { text, ...place } = special
      ? { text: tokenizer.tokenText(id), start: null, stop: null }
      : places.next(id);
    shown.push({ id, text, special, ...place });
    if (index % inOneTurn === inOneTurn - 1) await yieldToEventLoop();
  }
  return shown;
}

/** A text as tokenizers may change it: without case and accents. */
const folded = (text: string): string => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '');

const decoder = new TextDecoder();

/**
 * Finds tokens in their text, one after the other. Behind an unknown token, and behind a part that the tokenizer changed
 * or broke within a character, places are not certain.
 */
class Places {
  /** Code points, as places count them. */
  private readonly characters: readonly string[];
  private at = 0;
  private isLost = false;

  constructor(
    text: string,
    private readonly tokenizer: Tokenizer,
  ) {
    this.characters = Array.from(text);
  }

  /** @returns places of null where they are not certain */
  next(id: number) {
    const piece = decoder.decode(this.tokenizer.tokenBytes(id)).trim();
    this.isLost ||= this.tokenizer.isControl(id);
    const stop = this.isLost ? undefined : this.stopOf(folded(piece));
    if (stop === undefined) {
      this.isLost = true;
      return { text: piece || this.tokenizer.tokenText(id), start: null, stop: null };
    }
    const start = this.at;
    this.at = stop;
    return { text: this.characters.slice(start, stop).join(''), start, stop };
  }

  private stopOf(piece: string): number | undefined {
    while (this.characters[this.at]?.trim() === '') this.at++;
    let seen = '';
    let stop = this.at;
    while (seen.length < piece.length && stop < this.characters.length)
      seen += folded(this.characters[stop++]!);
    return seen === piece ? stop : undefined;
  }
}
