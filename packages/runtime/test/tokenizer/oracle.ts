import { createRequire } from 'node:module';

interface Encoding {
  getIds(): number[];
}

interface Oracle {
  encode(text: string, pair: null, options: { addSpecialTokens: boolean }): Promise<Encoding>;
  decode(ids: number[], skipSpecialTokens: boolean): Promise<string>;
}

/** Hugging Face's own tokenizers, in Rust; undefined on machines that their package has no binary for. */
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
