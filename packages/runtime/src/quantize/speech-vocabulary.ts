import type { MetadataInput } from '@quern/quant';
import { timestampCount, vocabularyOfBytes } from '../speech/vocabulary.js';
import { spellBytes } from '../tokenizer/byte-level.js';
import { TokenType } from '../tokenizer/vocabulary.js';

/** Seconds between two timestamps. */
const timeStep = 0.02;

/**
 * The vocabulary of a whisper.cpp file as `tokenizer.*` metadata of a GGUF file: the bytes of the text tokens; the
 * special tokens, whose ids follow from the vocabulary size; the merges, which follow from the order of the tokens.
 * @param size V, rows of the token embedding
 * @throws TokenizerError BAD_VOCABULARY
 */
export function speechVocabularyToGguf(
  tokens: readonly Uint8Array[],
  size: number,
): Map<string, MetadataInput> {
  const { ids } = vocabularyOfBytes(tokens, size);
  const text = tokens.slice(0, ids.endOfText);
  const spellings = Array.from({ length: size }, (_, id) => spellBytes(text[id] ?? new Uint8Array()));
  const types = new Int32Array(size).fill(TokenType.normal);
  const set = (id: number, name: string) => {
    spellings[id] = `<|${name}|>`;
    types[id] = TokenType.control;
  };
  set(ids.endOfText, 'endoftext');
  set(ids.start, 'startoftranscript');
  for (const [code, id] of ids.languages) set(id, code);
  set(ids.translate, 'translate');
  set(ids.transcribe, 'transcribe');
  set(ids.transcribe + 1, 'startoflm');
  set(ids.startOfPrevious, 'startofprev');
  set(ids.noSpeech, 'nospeech');
  set(ids.noTimestamps, 'notimestamps');
  for (let i = 0; i < timestampCount; i++) set(ids.firstTimestamp + i, (i * timeStep).toFixed(2));
  for (const [id, spelling] of spellings.entries())
    if (spelling === '') {
      spellings[id] = `[PAD${id}]`;
      types[id] = TokenType.unused;
    }
  return new Map<string, MetadataInput>([
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.pre', 'gpt-2'],
    ['tokenizer.ggml.tokens', spellings],
    ['tokenizer.ggml.token_type', types],
    ['tokenizer.ggml.merges', { type: 'array', value: mergesOf(text.map(spellBytes)) }],
    ['tokenizer.ggml.eos_token_id', ids.endOfText],
    ['tokenizer.ggml.add_bos_token', false],
  ]);
}

/**
 * The merges of a vocabulary where ids are ranks (as in tiktoken). Merging a token's bytes with all earlier merges
 * leaves two parts: these two are the token's merge.
 */
function mergesOf(spellings: readonly string[]): string[] {
  const ranks = new Map(spellings.map((spelling, id) => [spelling, id]));
  return spellings.flatMap((spelling, id) => {
    const parts = joined([...spelling], ranks, id);
    return parts.length === 2 ? [parts.join(' ')] : [];
  });
}

/** The parts left after joining all pairs with rank < `limit`, lowest rank first. */
function joined(parts: string[], ranks: ReadonlyMap<string, number>, limit: number): string[] {
  for (;;) {
    let [best, at] = [limit, -1];
    for (let i = 0; i + 1 < parts.length; i++) {
      const rank = ranks.get(parts[i]! + parts[i + 1]!) ?? limit;
      if (rank < best) [best, at] = [rank, i];
    }
    if (at < 0) return parts;
    parts.splice(at, 2, parts[at]! + parts[at + 1]!);
  }
}
