import { type EncoderFile, ModelError, type ModelFile, type SpeechFile } from '@quern/models';
import { locateModel, type ModelLocator } from './locate-model.js';
import { type OpenOptions, openEncoderFile, openLanguageFile, openSpeechModel } from './open-file.js';

/** Kind of a model: text generation, embedding and ranking, or speech recognition. */
export type ModelKind = AnyModelFile['kind'];

/** An opened model, by kind. No weights are read. */
export type AnyModelFile =
  | { readonly kind: 'language'; readonly file: ModelFile }
  | { readonly kind: 'encoder'; readonly file: EncoderFile }
  | { readonly kind: 'speech'; readonly file: SpeechFile };

type Open = (path: string, options: OpenOptions) => Promise<AnyModelFile>;

const kinds: readonly Open[] = [
  async (...given) => ({ kind: 'language', file: await openLanguageFile(...given) }),
  async (...given) => ({ kind: 'encoder', file: await openEncoderFile(...given) }),
  async (...given) => ({ kind: 'speech', file: await openSpeechModel(...given) }),
];

/**
 * Opens a model of any kind, as `openModelFile`, `openEncoderFile` or `openSpeechModel` does.
 * @param options.config path of a safetensors model's configuration, if not config.json
 * @throws the errors of these three; ModelError UNKNOWN_ARCHITECTURE where the architecture is unknown to all three.
 */
export async function openAnyModel(path: string, options: OpenOptions = {}): Promise<AnyModelFile> {
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
 * The kind of a model, from its header and configuration. No weights are read.
 * @throws RuntimeError MODEL_NOT_FOUND, BAD_ARGUMENT; errors of `openAnyModel`.
 */
export const modelKind = async (pathOrId: ModelLocator, resolveFrom?: string): Promise<ModelKind> =>
  (await openAnyModel(await locateModel('modelKind', pathOrId, resolveFrom), { resolveFrom })).kind;
