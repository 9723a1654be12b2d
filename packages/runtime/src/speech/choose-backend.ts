import type { Backend } from '@quern/core';
import { bytesOn, type SpeechFile } from '@quern/models';
import { takeBackend, withRoom } from '../model/choose-backend.js';
import type { SpeechLoadOptions } from './load-options.js';

/**
 * The best allowed backend with enough memory.
 * @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, MODEL_TOO_LARGE
 */
export const chooseSpeechBackend = (file: SpeechFile, options: SpeechLoadOptions) =>
  takeBackend({ ...options, backend: options.backend ?? 'auto' }, (backends) => ({
    backend: withRoom(backends, (backend) => speechBytes(file, backend)),
  }));

/** Weights, and a quarter more for caches and activations. */
export function speechBytes({ weights }: SpeechFile, backend: Backend): number {
  let bytes = 0;
  for (const tensor of weights.tensors.values()) bytes += bytesOn(backend, tensor);
  return 1.25 * bytes;
}
