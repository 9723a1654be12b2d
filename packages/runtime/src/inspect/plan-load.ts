import { type BackendPlan, pickOptions } from '@quern/core';
import {
  describeEncoder,
  describeModel,
  type EncoderFile,
  type ModelFile,
  type SpeechFile,
} from '@quern/models';
import { encoderBytes } from '../embedding/load-embedder.js';
import { badOption } from '../error.js';
import { takeBackend, withRoom } from '../model/choose-backend.js';
import { chooseBackends, isList } from '../model/choose-backends.js';
import { type LoadOptions, type ResolvedLoadOptions, resolveLoadOptions } from '../model/load-options.js';
import { type LoadedFile, loadedFile } from '../model/loaded-file.js';
import { locateModel, type ModelLocator } from '../model/locate-model.js';
import { type ModelKind, openAnyModel } from '../model/open-any-model.js';
import { needNotAborted } from '../need-not-aborted.js';
import { speechBytes } from '../speech/choose-backend.js';

/** What loading a model would take on this machine now. */
export interface LoadPlan {
  readonly kind: ModelKind;
  /** The file or folder of the model. */
  readonly path: string;
  readonly architecture: string;
  /** Bytes of weights, cache and the largest step. */
  readonly bytes: number;
  /** Bytes that are free for it. */
  readonly available: number;
  /** Most tokens of a request: of a prompt with its answer, or of a text. Absent: a speech model. */
  readonly context?: number;
  /** Sizes of a model of texts. */
  readonly config?: ModelFile['config'] | EncoderFile['config'];
  /** What the file of a model of texts holds. */
  readonly file?: LoadedFile;
  /** Of a language model. */
  readonly plan?: BackendPlan;
}

/**
 * The kind of a model, its sizes, and what loading it would take: `planModel` for models of all kinds. No weight is read.
 * Of the options, encoders and speech models have those of `loadEmbedder` and `loadSpeechModel`.
 * @throws the errors of `loadModel`, `loadEmbedder` or `loadSpeechModel` before they load
 */
export async function planLoad(pathOrId: ModelLocator, options: LoadOptions = {}): Promise<LoadPlan> {
  const resolved = resolveLoadOptions('planLoad', options);
  const path = await locateModel('planLoad', pathOrId, resolved.resolveFrom, resolved);
  const { kind, file } = await openAnyModel(path, { resolveFrom: resolved.resolveFrom });
  needNotAborted(resolved.signal, 'planning');
  if (kind === 'language') return languagePlan(path, file, resolved);
  return kind === 'encoder' ? encoderPlan(path, file, resolved) : speechPlan(path, file, resolved);
}

async function languagePlan(path: string, file: ModelFile, options: ResolvedLoadOptions): Promise<LoadPlan> {
  const { plan, owned } = await chooseBackends(file, options);
  for (const backend of owned) backend.dispose();
  const { weights, cache, activations, available } = plan.memory;
  return {
    ...{ kind: 'language', path, plan, available, config: file.config, context: plan.context },
    architecture: file.architecture.name,
    file: loadedFile(file, describeModel(file)),
    bytes: weights + cache + activations,
  };
}

async function encoderPlan(path: string, file: EncoderFile, options: ResolvedLoadOptions): Promise<LoadPlan> {
  return {
    ...{ kind: 'encoder', path, config: file.config, context: file.config.context },
    architecture: file.architecture.name,
    file: loadedFile(file, describeEncoder(file)),
    ...(await onOneBackend(options, (backend) => encoderBytes(file, backend))),
  };
}

async function speechPlan(path: string, file: SpeechFile, options: ResolvedLoadOptions): Promise<LoadPlan> {
  const sizes = await onOneBackend(options, (backend) => speechBytes(file, backend));
  return { kind: 'speech', path, architecture: 'whisper', ...sizes };
}

type Needed = Parameters<typeof withRoom>[1];

/** The bytes of a model on the backend that would compute it. */
async function onOneBackend(options: ResolvedLoadOptions, needed: Needed) {
  const { backend: choice } = options;
  if (isList(choice))
    throw badOption('[planLoad] backend is a list; an encoder or speech model has one backend', 'backend');
  const { backend, owned, ...sizes } = await takeBackend({ ...options, backend: choice }, (backends) => {
    const chosen = withRoom(backends, needed);
    return { backend: chosen, bytes: needed(chosen), available: chosen.freeMemory() };
  });
  if (owned) backend.dispose();
  return pickOptions(sizes, ['bytes', 'available']);
}
