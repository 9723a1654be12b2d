import {
  type EncoderFile,
  ModelError,
  type ModelFile,
  openEncoderFile,
  openModelFile,
  openSpeechModel,
  type SpeechFile,
} from '@quern/models';
import { locateModel, type ModelLocator } from './locate-model.js';

/** What a model is for: to generate text, to embed or rank it, or to write down speech. */
export type ModelKind = AnyModelFile['kind'];

/** A model that has been opened, by what it is for. No weight has been read. */
export type AnyModelFile =
  | { readonly kind: 'language'; readonly file: ModelFile }
  | { readonly kind: 'encoder'; readonly file: EncoderFile }
  | { readonly kind: 'speech'; readonly file: SpeechFile };

type Open = (path: string, options: { readonly config?: string }) => Promise<AnyModelFile>;

const kinds: readonly Open[] = [
  async (...given) => ({ kind: 'language', file: await openModelFile(...given) }),
  async (...given) => ({ kind: 'encoder', file: await openEncoderFile(...given) }),
  async (...given) => ({ kind: 'speech', file: await openSpeechModel(...given) }),
];

/**
 * Opens a model of whatever kind: what `openModelFile`, `openEncoderFile` or `openSpeechModel` opens.
 * @param options.config the configuration of a safetensors model that is not called config.json
 * @throws what these throw; ModelError UNKNOWN_ARCHITECTURE where none of them knows it.
 */
export async function openAnyModel(
  path: string,
  options: { readonly config?: string } = {},
): Promise<AnyModelFile> {
  let wrongKind: unknown;
  for (const open of kinds)
    try {
      return await open(path, options);
    } catch (error) {
      if (!(error instanceof ModelError && error.code === 'WRONG_KIND')) throw error;
      wrongKind = error;
    }
  throw wrongKind;
}

/**
 * What a model is for: of its header and configuration, no weight is read.
 * @throws RuntimeError MODEL_NOT_FOUND, BAD_ARGUMENT; as `openAnyModel`.
 */
export const modelKind = async (pathOrId: ModelLocator, resolveFrom?: string): Promise<ModelKind> =>
  (await openAnyModel(locateModel('modelKind', pathOrId, resolveFrom))).kind;
