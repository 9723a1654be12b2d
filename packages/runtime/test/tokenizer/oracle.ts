import { createRequire } from 'node:module';

interface Encoding {
  getIds(): number[];
  getOffsets(): [start: number, end: number][];
}

interface Oracle {
  encode(text: string, pair: null, options: { addSpecialTokens: boolean }): Promise<Encoding>;
  decode(ids: number[], skipSpecialTokens: boolean): Promise<string>;
}

/** Hugging Face's own tokenizers (Rust); undefined if their package has no binary for the machine. */
export const oracle = load();

function load(): ((json: object) => Oracle) | undefined {
  try {
    const { Tokenizer } = createRequire(import.meta.url)('tokenizers');
    return (json) => Tokenizer.fromString(JSON.stringify(json));
  } catch (error) {
    console.warn(`Hugging Face's tokenizers do not run here: ${String(error).slice(0, 200)}`);
    return undefined;
  }
}

/** `test`, skipped without the oracle. */
export const withOracle = oracle ? test : test.skip;

/** A file with the parts that are optional here and required there. */
export const complete = (file: object) => ({
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: [],
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
  decoder: null,
  ...file,
});
