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

/** What a model is for: to generate text, to embed or rank it, or to write down speech. */
export type ModelKind = AnyModelFile['kind'];

/** A model that has been opened, by what it is for. No weight has been read. */
export type AnyModelFile =
  | { readonly kind: 'language'; readonly file: ModelFile }
  | { readonly kind: 'encoder'; readonly file: EncoderFile }
  | { readonly kind: 'speech'; readonly file: SpeechFile };

/**
 * Opens a model of whatever kind: what `openModelFile`, `openEncoderFile` or `openSpeechModel` opens.
 * @param options.config the configuration of a safetensors model that is not called config.json
 * @throws what these throw; ModelError UNKNOWN_ARCHITECTURE where none of them knows it.
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
 * What a model is for: of its header and configuration, no weight is read.
 * @throws RuntimeError MODEL_NOT_FOUND, BAD_ARGUMENT; as `openAnyModel`.
 */
export const modelKind = async (pathOrId: ModelLocator, resolveFrom?: string): Promise<ModelKind> =>
  (await openAnyModel(locateModel('modelKind', pathOrId, resolveFrom))).kind;
