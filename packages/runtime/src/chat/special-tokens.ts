import type { Tokenizer } from '../tokenizer/index.js';
import type { TemplateTokens } from './chat-template.js';

/** Names of special tokens in templates, and the keys of their ids in GGUF. */
const GGUF_KEYS: Readonly<Record<string, string>> = {
  unk_token: 'unknown_token_id',
  sep_token: 'seperator_token_id', // as llama.cpp spells it
  pad_token: 'padding_token_id',
  cls_token: 'cls_token_id',
  mask_token: 'mask_token_id',
};

type Others = NonNullable<TemplateTokens['others']>;

/**
 * The special tokens of a GGUF file. GGUF does not list `additional_special_tokens`: these are all control tokens
 * without a name of their own.
 */
export function tokensOfGguf(metadata: ReadonlyMap<string, unknown>, tokenizer: Tokenizer): TemplateTokens {
  const named = Object.entries(GGUF_KEYS).flatMap(([name, key]) => {
    const id = metadata.get(`tokenizer.ggml.${key}`);
    return isId(id, tokenizer) ? [[name, tokenizer.tokenText(id)] as const] : [];
  });
  const own = tokensOfTokenizer(tokenizer);
  const taken = new Set([own.bosToken, own.eosToken, ...named.map(([, spelling]) => spelling)]);
  const additional: string[] = [];
  for (let id = 0; id < tokenizer.vocabSize; id++)
    if (tokenizer.isControl(id) && !taken.has(tokenizer.tokenText(id)))
      additional.push(tokenizer.tokenText(id));
  return { ...own, others: { ...Object.fromEntries(named), additional_special_tokens: additional } };
}

const isId = (id: unknown, { vocabSize }: Tokenizer): id is number =>
  typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < vocabSize;

/** The special tokens of a Hugging Face folder: every `…_token` and every list of tokens in tokenizer_config.json. */
export function tokensOfConfig(
  config: Readonly<Record<string, unknown>>,
  tokenizer: Tokenizer,
): TemplateTokens {
  const { bos_token, eos_token, ...rest } = spellingsOf(config);
  const own = tokensOfTokenizer(tokenizer);
  const chosen = {
    ...(typeof bos_token === 'string' && { bosToken: bos_token }),
    ...(typeof eos_token === 'string' && { eosToken: eos_token }),
  };
  return { ...own, ...chosen, others: rest };
}

function spellingsOf(config: Readonly<Record<string, unknown>>): Record<string, Others[string]> {
  const spellings: Record<string, Others[string]> = {};
  for (const [name, value] of Object.entries({ ...config, ...entriesOf(config.extra_special_tokens) })) {
    const one = spellingOf(value);
    if (name.endsWith('_token') && one !== undefined) spellings[name] = one;
    if (name.endsWith('_special_tokens') && Array.isArray(value))
      spellings[name] = value.flatMap((each: unknown) => spellingOf(each) ?? []);
  }
  return spellings;
}

const entriesOf = (value: unknown): object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

/** A string, or an object with its content. */
function spellingOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || !('content' in value)) return undefined;
  return typeof value.content === 'string' ? value.content : undefined;
}

/** The special tokens that every vocabulary defines. */
export function tokensOfTokenizer(tokenizer: Tokenizer): TemplateTokens {
  const { bos, eos } = tokenizer;
  return {
    ...(bos !== undefined && { bosToken: tokenizer.tokenText(bos) }),
    ...(eos !== undefined && { eosToken: tokenizer.tokenText(eos) }),
  };
}
