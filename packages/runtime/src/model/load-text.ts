import { dirname } from 'node:path';
import type { EncoderFile, ModelFile } from '@quern/models';
import {
  type BuiltinTemplate,
  type ChatTemplate,
  ChatTemplateError,
  chatTemplateFromGguf,
  chatTemplateFromHuggingFace,
  type LoadTemplateOptions,
} from '../chat/index.js';
import { giveNotice } from '../notice.js';
import { loadTokenizerFromGguf, type Tokenizer, tokenizerFromHuggingFace } from '../tokenizer/index.js';

/** The model's tokenizer; undefined where the model has no vocabulary. @throws TokenizerError */
export async function loadTokenizer(file: ModelFile | EncoderFile): Promise<Tokenizer | undefined> {
  if (file.kind === 'gguf')
    return file.metadata.has('tokenizer.ggml.model') ? loadTokenizerFromGguf(file.metadata) : undefined;
  const path = file.companions['tokenizer.json'];
  return path === undefined ? undefined : tokenizerFromHuggingFace(dirname(path));
}

/** The name of a builtin template, or Jinja text: Jinja contains braces. */
function chosenTemplate(chosen: string | undefined): LoadTemplateOptions {
  if (chosen === undefined) return {};
  return chosen.includes('{') ? { source: chosen } : { builtin: chosen as BuiltinTemplate };
}

/**
 * The chosen chat template, else the model's own; undefined where the model has none or a broken one.
 * @throws ChatTemplateError UNKNOWN_BUILTIN or BAD_TEMPLATE of a chosen template
 */
export async function loadChatTemplate(
  file: ModelFile,
  tokenizer: Tokenizer | undefined,
  chosen: string | undefined,
  onNotice: ((text: string) => void) | undefined,
): Promise<ChatTemplate | undefined> {
  if (!tokenizer) return undefined;
  const options = chosenTemplate(chosen);
  try {
    return file.kind === 'gguf'
      ? chatTemplateFromGguf(file.metadata, tokenizer, options)
      : await chatTemplateFromHuggingFace(dirname(file.path), tokenizer, options);
  } catch (error) {
    if (chosen !== undefined || !(error instanceof ChatTemplateError)) throw error;
    if (error.code !== 'NO_TEMPLATE')
      giveNotice(onNotice, `the model's chat template cannot be used: ${error.message}`);
    return undefined;
  }
}
