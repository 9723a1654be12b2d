import { checkArgument, checkOptions, rules, type Schema } from '@quern/core';
import * as models from '@quern/models';
import { type Opener, withArchitectures } from '../discovery/architectures.js';
import { badArgument, badOption } from '../error.js';
import { loadSchema } from './load-options.js';

export interface OpenOptions extends Opener {
  /** Configuration file of a safetensors model. Default: config.json beside it. */
  readonly config?: string | undefined;
}

/** What each option must be, and its default. */
export const openSchema = {
  config: {
    ...rules.path,
    about: 'configuration file of a safetensors model',
    absent: 'config.json beside it',
  },
  resolveFrom: loadSchema.resolveFrom,
  onNotice: loadSchema.onNotice,
} as const satisfies Schema<OpenOptions>;

/** The same opening, of a file whose architecture may come from an installed package. */
const opening =
  <F>(open: (path: string, options: { readonly config?: string }) => Promise<F>) =>
  (path: string, options: OpenOptions = {}): Promise<F> =>
    withArchitectures(options, () =>
      open(path, options.config === undefined ? {} : { config: options.config }),
    );

/** `openModelFile` of @quern/models, with the architectures of installed packages. */
export const openLanguageFile = opening(models.openModelFile);

/** `openEncoderFile` of @quern/models, with the architectures of installed packages. */
export const openEncoderFile = opening(models.openEncoderFile);

/** `openSpeechModel` of @quern/models. Architectures of installed packages are known as other kinds of models. */
export const openSpeechModel = opening(models.openSpeechModel);

/**
 * Opens a language model: a GGUF file, a safetensors file, or a folder. Its architecture may come from an installed
 * package. Reads headers and configuration only.
 * @throws RuntimeError BAD_ARGUMENT, BAD_OPTION; the errors of `openModelFile` of @quern/models
 */
export async function openModelFile(path: string, options: OpenOptions = {}): Promise<models.ModelFile> {
  checkArgument('openModelFile', 'path', path, rules.path, badArgument);
  checkOptions('openModelFile', options, openSchema, badOption);
  return openLanguageFile(path, options);
}
