import { ModelError } from '../error.js';
import type { ModelFile } from '../model-file.js';
import { type ResolvedWeight, resolveWeights } from './resolve-weights.js';

/**
 * Every parameter of a decoder, found in its file.
 * @throws ModelError BAD_ARGUMENT where a table of JavaScript lacks `readBy`; as `resolveWeights`
 */
export function resolveDecoder({
  architecture: { name, weights: table },
  config,
  weights,
}: Pick<ModelFile, 'architecture' | 'config' | 'weights'>): readonly ResolvedWeight[] {
  for (const [field, entry] of Object.entries(table.model))
    if (typeof entry.readBy !== 'function')
      throw new ModelError(
        'BAD_ARGUMENT',
        `architecture '${name}': weights.model.${field} needs readBy, which names the functions of the decoder that read it: ` +
          "readBy: () => ['embed'], ['logits'] or both",
      );
  return resolveWeights(table, config, weights);
}
