import { TokenizerError } from './error.js';
import type { PreTokenizer } from './pre-tokenizer.js';
import * as ways from './pre-tokenizer-patterns.js';

/** The names in GGUF's `tokenizer.ggml.pre`, grouped by llama.cpp's splitting rules. */
const NAMES: readonly (readonly [PreTokenizer, string])[] = [
  [ways.DEFAULT, 'default'],
  [
    ways.GPT2,
    'gpt-2 phi-2 mpt olmo jais gigachat exaone4 mellum trillion granite-docling a.x-4.0 modern-bert jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code roberta-bpe',
  ],
  [ways.DIGITS_THEN_GPT2, 'starcoder refact command-r smollm codeshell exaone minerva-7b mellum2'],
  [ways.LLAMA3, 'llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano'],
  [ways.CL100K, 'dbrx smaug-bpe glm4 chatglm-bpe'],
  [ways.QWEN2, 'qwen2 deepseek-r1-qwen kormo megrez f2llmv2 stablelm2 hunyuan grok-2 solar-open'],
  [ways.QWEN35, 'qwen35'],
  [ways.TEKKEN, 'tekken'],
  [ways.O200K, 'gpt-4o llama4 kanana2 talkie minimax-m2'],
  [ways.GRANITE_MULTILINGUAL, 'granite-embed-multi-97m'],
  [ways.TINY_AYA, 'tiny_aya cohere2moe'],
  [ways.DEEPSEEK_LLM, 'deepseek-llm'],
  [ways.DEEPSEEK_CODER, 'deepseek-coder'],
  [ways.DEEPSEEK3, 'deepseek-v3 hunyuan-dense joyai-llm hy_v4'],
  [ways.SPARK2_5, 'spark2_5'],
  [ways.FALCON, 'falcon'],
  [ways.BLOOM, 'bloom poro-chat gpt3-finnish'],
  [ways.VIKING, 'viking'],
  [ways.JAIS2, 'jais-2'],
  [ways.MINICPM5, 'minicpm5'],
  [ways.YOUTU, 'youtu'],
  [ways.CHAMELEON, 'chameleon'],
  [ways.SUPERBPE, 'superbpe'],
  [ways.BAILING, 'bailingmoe bailingmoe2 llada-moe'],
  [ways.SEED_CODER, 'seed-coder'],
  [ways.EXAONE_MOE, 'exaone-moe'],
  [ways.LAGUNA, 'laguna'],
  [ways.KIMI_K2, 'kimi-k2'],
  [ways.AFMOE, 'afmoe'],
  [ways.UFAKZEKA, 'ufakzeka'],
  [ways.K2_HORIZON, 'k2-horizon'],
  [ways.GEMMA4, 'gemma4 granite-embed-multi-311m'],
  [ways.SARVAM_MOE, 'sarvam-moe'],
  [ways.WHITESPACE, 'whitespace'],
];

const PRE_TOKENIZERS = new Map(NAMES.flatMap(([way, names]) => names.split(' ').map((name) => [name, way])));

/** All names known to `preTokenizer`. */
export const preTokenizerNames: readonly string[] = [...PRE_TOKENIZERS.keys()];

/** @throws TokenizerError UNKNOWN_PRETOKENIZER */
export function preTokenizer(name: string): PreTokenizer {
  const known = PRE_TOKENIZERS.get(name);
  if (known) return known;
  const names = preTokenizerNames.join(', ');
  throw new TokenizerError(
    'UNKNOWN_PRETOKENIZER',
    `tokenizer.ggml.pre is "${name}", which this version cannot split text for; it knows ${names}`,
  );
}
