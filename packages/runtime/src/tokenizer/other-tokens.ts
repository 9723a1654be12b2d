import { basename } from 'node:path';
import type { MetadataInput } from '@quern/quant';
import { loadTokenizerFromGguf } from './gguf.js';
import type { AddedToken } from './json/added-tokens.js';
import type { Tokenizer } from './tokenizer.js';

const MOST_TOKENS = 256;

/** Texts that show most rules of tokenizers. */
const TEXTS = [
  'the cat',
  ' the  cat',
  "a\tb\n\n c it's 1234",
  'É é e\u0301 ﬁ ½ Ⅷ İ ß',
  '你好 カタカナ',
  '🦙\u200b',
];

/** A text that llama.cpp's keys alone split into other tokens; undefined: none was found. */
export async function otherTokens(
  tokenizer: Tokenizer,
  added: readonly AddedToken[],
  entries: ReadonlyMap<string, MetadataInput>,
  folder: string,
): Promise<string | undefined> {
  const metadata = new Map<string, unknown>([['general.name', basename(folder)]]);
  for (const [key, entry] of entries)
    metadata.set(key, typeof entry === 'object' && 'type' in entry ? entry.value : entry);
  const other = await loadTokenizerFromGguf(metadata);
  for (const text of probes(added)) {
    const [ids, others] = await Promise.all([tokenizer, other].map((each) => idsOf(each, text)));
    if (ids !== others) return text;
  }
  return undefined;
}

function* probes(added: readonly AddedToken[]): Generator<string> {
  for (const { content } of added.slice(0, MOST_TOKENS)) {
    yield `${content}b`;
    yield `a ${content}\nb`;
    yield `a${content}b`;
  }
  yield* TEXTS;
}

/** As text: errors of texts that one of them cannot encode are a difference too. */
const idsOf = (tokenizer: Tokenizer, text: string): Promise<string> =>
  tokenizer.encodeInTurns(text, { special: 'parse' }).then(String, () => 'none');
