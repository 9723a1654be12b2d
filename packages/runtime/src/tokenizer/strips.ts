import { GgufFields, type GgufMetadata } from './gguf-fields.js';
import { TokenType, type Vocabulary } from './vocabulary.js';

/** Tokens whose match includes the white space on its left or right: `lstrip`, `rstrip` of tokenizer.json. */
export interface Strips {
  readonly left: ReadonlySet<number>;
  readonly right: ReadonlySet<number>;
}

/** GGUF has no key for these flags. As in llama.cpp, they are known for some models, by their names. */
export function stripsOf(metadata: GgufMetadata, vocabulary: Vocabulary): Strips {
  const pre = new GgufFields(metadata).string('pre') ?? '';
  const name = text(metadata, 'general.name').toLowerCase();
  const architecture = text(metadata, 'general.architecture');
  const mask = (spelling: string) => new Set([vocabulary.spellings.indexOf(spelling)]);
  if (/^jina-v2-(de|es|code)$/.test(pre) || /^(nomic-bert-moe|jina-bert-v3)$/.test(architecture))
    return { left: mask('<mask>'), right: none };
  if (/modern-?bert/.test(name) || architecture === 'modern-bert')
    return { left: mask('[MASK]'), right: none };
  return isPhi3(metadata, name, architecture) ? { left: none, right: phi3(vocabulary) } : noStrips;
}

const none: ReadonlySet<number> = new Set();
export const noStrips: Strips = { left: none, right: none };

const text = (metadata: GgufMetadata, key: string): string => {
  const value = metadata.get(key);
  return typeof value === 'string' ? value : '';
};

/** Phi-3 and 3.5 have Llama's vocabulary. Phi-4 has the same architecture and another vocabulary, without flags. */
const isPhi3 = (metadata: GgufMetadata, name: string, architecture: string): boolean =>
  text(metadata, 'tokenizer.ggml.model') === 'llama' && (architecture === 'phi3' || /phi[-_ ]?3/.test(name));

const NOT_STRIPPED: ReadonlySet<string> = new Set(['<unk>', '<s>', '<|endoftext|>']);

function phi3({ size, spellings, types }: Vocabulary): ReadonlySet<number> {
  const isStripped = (id: number) =>
    types[id] === TokenType.control || types[id] === TokenType.user || types[id] === TokenType.unknown;
  const right = new Set<number>();
  for (let id = 0; id < size; id++) if (isStripped(id) && !NOT_STRIPPED.has(spellings[id]!)) right.add(id);
  return right;
}
