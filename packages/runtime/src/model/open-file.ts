import * as models from '@quern/models';
import { type Opener, withArchitectures } from '../discovery/architectures.js';

export interface OpenOptions extends Opener {
  /** Configuration file of a safetensors model, if not config.json. */
  readonly config?: string | undefined;
}

/** The same opening, of a file whose architecture may come from an installed package. */
const opening =
  <F>(open: (path: string, options: { readonly config?: string }) => Promise<F>) =>
  (path: string, options: OpenOptions = {}): Promise<F> =>
    withArchitectures(options, () =>
      open(path, options.config === undefined ? {} : { config: options.config }),
    );

/** `openModelFile` of @quern/models, with the architectures of installed packages. */
export const openModelFile = opening(models.openModelFile);

/** `openEncoderFile` of @quern/models, with the architectures of installed packages. */
export const openEncoderFile = opening(models.openEncoderFile);

/** `openSpeechModel` of @quern/models. Architectures of installed packages are known as other kinds of models. */
export const openSpeechModel = opening(models.openSpeechModel);
