import { openModelFile } from '@quern/models';
import { RuntimeError } from '../error.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { loadTokenizer } from './load-text.js';
import { locateModel } from './locate-model.js';

/**
 * The vocabulary of a model, without its weights.
 * Rejects with RuntimeError MODEL_NOT_FOUND or NO_TOKENIZER, and with what readers of broken files throw.
 */
export async function openTokenizer(pathOrId: string, resolveFrom?: string): Promise<Tokenizer> {
  const path = locateModel(pathOrId, resolveFrom);
  const tokenizer = await loadTokenizer(await openModelFile(path));
  if (!tokenizer) throw new RuntimeError('NO_TOKENIZER', `${path} has no vocabulary`);
  return tokenizer;
}
