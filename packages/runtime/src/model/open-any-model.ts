import { type EncoderFile, embedsTexts, ModelError, type ModelFile, type SpeechFile } from '@quern/models';
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

const openEncoder: Open = async (...given) => ({ kind: 'encoder', file: await openEncoderFile(...given) });

const kinds: readonly Open[] = [
  async (...given) => {
    const file = await openLanguageFile(...given);
    return (await embedsTexts(file)) ? openEncoder(...given) : { kind: 'language', file };
  },
  openEncoder,
  async (...given) => ({ kind: 'speech', file: await openSpeechModel(...given) }),
];

/**
 * Opens a model of any kind, as `openModelFile`, `openEncoderFile` or `openSpeechModel` does. A language model whose
 * files say that it embeds or ranks texts is an encoder.
 * @param options.config path of a safetensors model's configuration, if not config.json
 * @throws the errors of these three; ModelError UNKNOWN_ARCHITECTURE where the architecture is unknown to all three.
 */
export async function openAnyModel(path: string, options: OpenOptions = {}): Promise<AnyModelFile> {
  let wrongKind: unknown;
  for (const [i, open] of kinds.entries())
    try {
      return await open(path, options);
    } catch (error) {
      if (!(error instanceof ModelError) || !(isOtherKind(error) || (i === 0 && isUnknown(error))))
        throw error;
      wrongKind = error;
    }
  throw wrongKind;
}

const isOtherKind = ({ code }: ModelError): boolean => code === 'WRONG_KIND';

/** Only encoders may have the name of a class without a head: Qwen3Model. */
const isUnknown = ({ code }: ModelError): boolean => code === 'UNKNOWN_ARCHITECTURE';

/**
 * The kind of a model, from its header and configuration. No weights are read.
 * @throws RuntimeError MODEL_NOT_FOUND, BAD_ARGUMENT; errors of `openAnyModel`.
 */
export const modelKind = async (pathOrId: ModelLocator, resolveFrom?: string): Promise<ModelKind> =>
  (await openAnyModel(await locateModel('modelKind', pathOrId, resolveFrom), { resolveFrom })).kind;
