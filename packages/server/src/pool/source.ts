import type { LoadedFile } from '@quern/runtime';
import type { ModelKindName, ServedModel } from '../kinds.js';

/** Sizes of a model, under the names of its configuration. Encoders and decoders have all of them. */
export interface ModelSizes {
  /** Tokens of context that the model was trained for. */
  readonly context: number;
  readonly vocabulary: number;
  readonly width: number;
  readonly layers: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly kvHeads?: number | undefined;
}

/** What lists of models show. All of it may be known before the model is loaded. */
export interface ModelFacts {
  /** The model's file or folder. Clients never see it. */
  readonly path?: string | undefined;
  readonly architecture?: string | undefined;
  readonly file?: LoadedFile | undefined;
  /** Most tokens of a request. */
  readonly context?: number | undefined;
  readonly sizes?: ModelSizes | undefined;
  /** Under Ollama's names: 'completion', 'tools', 'thinking', 'embedding'. */
  readonly capabilities?: readonly string[] | undefined;
}

/** A model that a pool loads at its first request. */
export interface ModelSource {
  readonly kind: ModelKindName;
  /** For lists; a loaded model has its own facts. */
  readonly facts?: ModelFacts | undefined;
  /** Names of the adapters that `load` gives the model: a request for one of them loads it. */
  readonly adapters?: readonly string[] | undefined;
  /** Bytes of memory that the loaded model takes: weights, cache and activations. Default 0: it always fits. */
  readonly bytes?: number | undefined;
  /** Loaded by `ModelPool.start`, and never unloaded. Default false. */
  readonly pinned?: boolean | undefined;
  /** `bytes` at this moment; called before each load, since files may have changed. Rejects where they are gone. */
  plan?(): Promise<number>;
  /** @param signal aborts where the pool is disposed */
  load(signal: AbortSignal): Promise<ServedModel>;
  /** Frees the model, which no request uses. Default: `dispose`. */
  unload?(model: ServedModel): Promise<void> | void;
}
