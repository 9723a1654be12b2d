import {
  type Backend,
  checkOptions,
  type Pooling,
  pickOptions,
  poolings,
  rules,
  type Schema,
} from '@quern/core';
import {
  describeEncoder,
  type EncoderConfig,
  type EncoderFile,
  embedBackend,
  exampleModels,
  loadEncoder,
  rowsOfStep,
} from '@quern/models';
import { badOption, RuntimeError } from '../error.js';
import { takeBackend, withRoom } from '../model/choose-backend.js';
import {
  type LoadOptions,
  loadSchema,
  type OneBackendOptions,
  oneBackendSchema,
} from '../model/load-options.js';
import { loadTokenizer } from '../model/load-text.js';
import { loadedFile } from '../model/loaded-file.js';
import { locateModel, type ModelLocator } from '../model/locate-model.js';
import { openEncoderFile } from '../model/open-file.js';
import { needNotAborted } from '../need-not-aborted.js';
import { giveNotice } from '../notice.js';
import { encoderActivationBytes } from '../planner/memory.js';
import { Embedder } from './embedder.js';

const shared = [
  'threads',
  'precision',
  'mmap',
  'resolveFrom',
  'offline',
  'signal',
  'onProgress',
  'onNotice',
] as const;

export interface EmbedderOptions extends Pick<LoadOptions, (typeof shared)[number]>, OneBackendOptions {
  /** Pooling of a text's rows into one. Default: from the model's files, else 'mean'. */
  readonly pooling?: Pooling | undefined;
  /** Scale embeddings to length 1. Default: from the model's files, else true. */
  readonly normalise?: boolean | undefined;
}

/** What each option must be, and its default. */
export const embedderSchema = {
  ...oneBackendSchema,
  ...pickOptions(loadSchema, shared),
  pooling: {
    ...rules.oneOf(Object.keys(poolings) as Pooling[]),
    about: "pooling of a text's rows into one",
    absent: "from the model's files, else 'mean'",
  },
  normalise: {
    ...rules.flag,
    about: 'scale embeddings to length 1',
    absent: "from the model's files, else true",
  },
} as const satisfies Schema<EmbedderOptions>;

/**
 * Loads an encoder, or a language model as one, for embedding or ranking: a GGUF file, a safetensors file, a folder with config.json and
 * safetensors, or the name of an installed package that declares a model. A failure leaves nothing allocated.
 * @throws RuntimeError MODEL_NOT_FOUND, NO_TOKENIZER, BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, MODEL_TOO_LARGE,
 * BAD_OPTION, BAD_ARGUMENT, ABORTED; ModelError, FileError, TokenizerError for faults of the files; BackendError.
 */
export async function loadEmbedder(pathOrId: ModelLocator, options: EmbedderOptions = {}): Promise<Embedder> {
  const start = performance.now();
  needOptions(options);
  const path = await locateModel('loadEmbedder', pathOrId, options.resolveFrom, options);
  const file = await openEncoderFile(path, options);
  const tokenizer = await loadTokenizer(file);
  if (!tokenizer) throw new RuntimeError('NO_TOKENIZER', `${file.path} has no vocabulary`);
  const { backend, owned } = await startBackend(file, options);
  try {
    const model = await loadEncoder(file, backend, loadingOf(options), changesOf(options));
    return new Embedder({
      path: file.path,
      file: loadedFile(file, describeEncoder(file)),
      architecture: model.architecture,
      config: model.config,
      prompts: file.prompts,
      template: file.template,
      ...(!file.embeds && { notice: () => sayPlain(file.path, model.config, options) }),
      tokenizer,
      encoder: embedBackend(model),
      backend,
      loadMs: performance.now() - start,
      release: () => {
        if (owned) backend.dispose();
      },
    });
  } catch (error) {
    if (owned) backend.dispose();
    throw error;
  }
}

/** A language model embeds, too, though not as well as a model that was trained for it. */
function sayPlain(path: string, { pooling }: EncoderConfig, { onNotice }: EmbedderOptions): void {
  const of = { mean: 'the mean of the', last: 'the last of the', cls: 'the first of the' }[pooling];
  giveNotice(
    onNotice,
    `${path}: is a language model, and does not say how it embeds: an embedding is ${of} hidden states of its last layer (option pooling). For search take an embedding model, such as ${exampleModels.encoder}`,
  );
}

function needOptions(options: EmbedderOptions): void {
  checkOptions('loadEmbedder', options, embedderSchema, badOption);
  needNotAborted(options.signal, 'loading');
}

async function startBackend(file: EncoderFile, options: EmbedderOptions) {
  options.onProgress?.({ phase: 'backend', done: 0, total: 1 });
  const chosen = await takeBackend({ ...options, backend: options.backend ?? 'auto' }, (backends) => ({
    backend: withRoom(backends, (backend) => encoderBytes(file, backend)),
  }));
  options.onProgress?.({ phase: 'backend', done: 1, total: 1 });
  return chosen;
}

/** Weights, and the largest step. */
export function encoderBytes(file: EncoderFile, backend: Backend): number {
  const rows = rowsOfStep(file.config.context) * (backend.profile.plansInFlight ?? 1);
  const activations = encoderActivationBytes(file.config, rows);
  return describeEncoder(file, backend).weightBytes + activations;
}

const loadingOf = ({ signal, onNotice, onProgress, mmap }: EmbedderOptions) => ({
  ...(signal && { signal }),
  ...(mmap !== undefined && { mmap }),
  ...(onNotice && { onNotice }),
  ...(onProgress && { onProgress }),
});

const changesOf = ({ pooling, normalise }: EmbedderOptions) => ({
  ...(pooling !== undefined && { pooling }),
  ...(normalise !== undefined && { normalise }),
});
