import type { MetadataValue } from '@quern/quant';
import { ModelError } from '../error.js';
import { decoderOf } from './decoder-as-encoder.js';
import type { EncoderArchitecture } from './encoder.js';
import type { EncoderConfig } from './encoder-parameters.js';

/** The prompt's key in GGUF files. */
export const rankTemplateKey = 'tokenizer.chat_template.rerank';

/** The prompt of Qwen3-Reranker (Zhang et al. 2025, §2), with its instruction for searches of the web. */
const qwen3Template =
  '<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. ' +
  'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n' +
  '<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n' +
  '<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n';

/**
 * The prompt of a decoder that ranks, with {query} and {document}; undefined: the model does not rank, or takes pairs.
 * @param own the template in the file
 * @throws ModelError UNSUPPORTED_CONFIG where it is not known
 */
export function rankTemplate(
  path: string,
  architecture: EncoderArchitecture,
  { labels }: EncoderConfig,
  own?: MetadataValue,
): string | undefined {
  const decoder = decoderOf(architecture);
  if (!decoder || labels === 0) return undefined;
  if (typeof own === 'string' && /\{query\}.*\{document\}/s.test(own)) return own;
  if (decoder.name === 'qwen3') return qwen3Template;
  throw new ModelError(
    'UNSUPPORTED_CONFIG',
    `${path}: is a '${decoder.name}' with a classifier, but has no ${rankTemplateKey}: the prompt with query and text is not known`,
  );
}
