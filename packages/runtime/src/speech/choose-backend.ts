import type { Backend } from '@quern/core';
import type { SpeechFile } from '@quern/models';
import { backendFailed, findBackend, findBackends, showCandidates } from '../discovery/find-backends.js';
import { RuntimeError } from '../error.js';
import { showBytes } from '../planner/memory.js';
import type { SpeechLoadOptions } from './speech-model.js';

/** A backend, and whether it was loaded here and so is disposed with the model. */
interface Chosen {
  readonly backend: Backend;
  readonly owned: boolean;
}

/**
 * The backend asked for, or the fastest that is installed.
 * @throws RuntimeError BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND, MODEL_TOO_LARGE
 */
export async function chooseSpeechBackend(file: SpeechFile, options: SpeechLoadOptions): Promise<Chosen> {
  const chosen = await choose(options);
  try {
    needMemory(file, chosen.backend);
    return chosen;
  } catch (error) {
    if (chosen.owned) chosen.backend.dispose();
    throw error;
  }
}

async function choose(options: SpeechLoadOptions): Promise<Chosen> {
  const { backend = 'auto', resolveFrom } = options;
  if (typeof backend !== 'string') return { backend, owned: false };
  if (backend !== 'auto') return { backend: (await findBackend(backend, options)).backend, owned: true };
  const candidates = await findBackends(options);
  const [best, ...others] = candidates;
  for (const other of others) other.backend?.dispose();
  if (!best)
    throw new RuntimeError(
      'NO_BACKEND',
      `there is no backend to compute with: ${showCandidates(candidates, resolveFrom)}. To add one: npm install @quern/backend-cpu`,
    );
  if (!best.backend) throw backendFailed(best);
  for (const { package: name, error } of others)
    if (error)
      options.onNotice?.(`the backend of ${name} does not load: ${error}. Going on with '${best.name}'`);
  return { backend: best.backend, owned: true };
}

/** Weights, and a quarter more for caches and what a step takes. */
function needMemory({ weights, path }: SpeechFile, backend: Backend): void {
  let bytes = 0;
  for (const tensor of weights.tensors.values()) bytes += tensor.bytes.byteLength;
  const free = backend.freeMemory();
  if (1.25 * bytes > free)
    throw new RuntimeError(
      'MODEL_TOO_LARGE',
      `${path}: takes about ${showBytes(1.25 * bytes)} on backend '${backend.name}', which has ${showBytes(free)} free`,
    );
}
