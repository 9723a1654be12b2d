import { ModelError } from '@quern/models';
import { RuntimeError } from '../error.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { loadTokenizer } from './load-text.js';
import { locateModel, type ModelLocator } from './locate-model.js';
import { openEncoderFile, openLanguageFile } from './open-file.js';

/**
 * The tokenizer of a model; weights are not read. Rejects with RuntimeError MODEL_NOT_FOUND, BAD_ARGUMENT or
 * NO_TOKENIZER, and with the errors of file readers.
 */
export async function openTokenizer(pathOrId: ModelLocator, resolveFrom?: string): Promise<Tokenizer> {
  const path = await locateModel('openTokenizer', pathOrId, resolveFrom);
  const tokenizer = await loadTokenizer(await openAnyFile(path, resolveFrom));
  if (!tokenizer) throw new RuntimeError('NO_TOKENIZER', `${path} has no vocabulary`);
  return tokenizer;
}

/** The file of a language model or of an encoder. */
async function openAnyFile(path: string, resolveFrom: string | undefined) {
  try {
    return await openLanguageFile(path, { resolveFrom });
  } catch (error) {
    if (error instanceof ModelError && ['WRONG_KIND', 'UNKNOWN_ARCHITECTURE'].includes(error.code))
      return openEncoderFile(path, { resolveFrom });
    throw error;
  }
}
