import { openModelFile } from '@quern/models';
import { type QuantizeOptions, quantizeGguf } from '@quern/quant';
import { locateModel } from '../model/locate-model.js';

export interface QuantizeModelOptions extends QuantizeOptions {
  /** Where installed model packages are looked for; the application's folder where absent. */
  readonly resolveFrom?: string;
}

/**
 * Writes a model as a GGUF file in a mix of formats.
 * @throws RuntimeError MODEL_NOT_FOUND; ModelError, FileError, TokenizerError for what is wrong with the files; QuantizeError.
 */
export async function quantizeModel(
  pathOrId: string,
  output: string,
  options: QuantizeModelOptions,
): Promise<void> {
  const { resolveFrom, ...rest } = options;
  const file = await openModelFile(locateModel(pathOrId, resolveFrom));
  await quantizeGguf(file.path, output, rest);
}
