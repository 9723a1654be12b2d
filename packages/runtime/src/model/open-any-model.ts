import {
  type EncoderFile,
  findModel,
  ModelError,
  type ModelFile,
  openEncoderFile,
  openModelFile,
  openSpeechModel,
  type SpeechFile,
} from '@quern/models';
import { isGgml } from '@quern/quant';
import { locateModel, type ModelLocator } from './locate-model.js';

/** Kind of a model: text generation, embedding and ranking, or speech recognition. */
export type ModelKind = AnyModelFile['kind'];

/** An opened model, by kind. No weights are read. */
export type AnyModelFile =
  | { readonly kind: 'language'; readonly file: ModelFile }
  | { readonly kind: 'encoder'; readonly file: EncoderFile }
  | { readonly kind: 'speech'; readonly file: SpeechFile };

/**
 * Opens a model of any kind, as `openModelFile`, `openEncoderFile` or `openSpeechModel` does.
 * @param options.config path of a safetensors model's configuration, if not config.json
 * @throws the errors of these three; ModelError UNKNOWN_ARCHITECTURE where the architecture is unknown to all three.
 */
export async function openAnyModel(
  path: string,
  options: { readonly config?: string } = {},
): Promise<AnyModelFile> {
  const found = await findModel(path, options.config);
  if (found.kind === 'gguf' && (await isGgml(found.path)))
    return { kind: 'speech', file: await openSpeechModel(found.path) };
  try {
    return { kind: 'language', file: await openModelFile(path, options) };
  } catch (error) {
    const code = error instanceof ModelError ? error.code : undefined;
    if (code === 'WRONG_KIND') return { kind: 'encoder', file: await openEncoderFile(path, options) };
    if (code !== 'UNKNOWN_ARCHITECTURE') throw error;
    const file = await openSpeechModel(path, options).catch((other: unknown) => {
      throw other instanceof ModelError && other.code === 'UNKNOWN_ARCHITECTURE' ? error : other;
    });
    return { kind: 'speech', file };
  }
}

/**
 * The kind of a model, from its header and configuration. No weights are read.
 * @throws RuntimeError MODEL_NOT_FOUND, BAD_ARGUMENT; errors of `openAnyModel`.
 */
export const modelKind = async (pathOrId: ModelLocator, resolveFrom?: string): Promise<ModelKind> =>
  (await openAnyModel(locateModel('modelKind', pathOrId, resolveFrom))).kind;
