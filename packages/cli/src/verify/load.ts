import {
  type Backend,
  type FindBackendsOptions,
  findBackend,
  type LoadOptions,
  loadModel,
  type Model,
  RuntimeError,
} from '@quern/runtime';
import { isCoded } from '../terminal/report.js';

export interface VerifyContext {
  readonly path: string;
  readonly signal: AbortSignal;
  /** Most prompt tokens, and generated tokens. */
  readonly tokens: number;
  /** Called with the notices of each load. */
  readonly onNotice: (text: string) => void;
}

/** Shows each text once: verify loads the same model several times. */
export function shownOnce(show: (text: string) => void): (text: string) => void {
  const shown = new Set<string>();
  return (text) => {
    if (!shown.has(text)) show(text);
    shown.add(text);
  };
}

/** Starts an installed backend by name, calls `use`, frees the backend. */
export async function withBackendNamed<T>(
  name: string,
  options: Pick<FindBackendsOptions, 'threads' | 'precision' | 'backendOptions'>,
  use: (backend: Backend) => Promise<T>,
): Promise<T> {
  const { backend } = await findBackend(name, options);
  try {
    return await use(backend);
  } finally {
    backend.dispose();
  }
}

/** The reference backend. */
export async function withReference<T>(use: (reference: Backend) => Promise<T>): Promise<T> {
  try {
    return await withBackendNamed('reference', {}, use);
  } catch (error) {
    throw referenceMissing(error) ?? error;
  }
}

/** A clear error for a missing reference backend; undefined for any other error. */
export function referenceMissing(error: unknown): RuntimeError | undefined {
  if (!(isCoded(error) && error.code === 'BACKEND_NOT_FOUND')) return undefined;
  return new RuntimeError(
    'BACKEND_NOT_FOUND',
    "verify compares a backend with 'reference', which is not installed: npm install @quern/backend-reference; or compare op by op with --ops, without another backend",
    { cause: error },
  );
}

/** Loads the model on a backend, calls `look`, frees the model. */
export async function withModelOn<T>(
  { path, signal, tokens, onNotice }: VerifyContext,
  backend: Backend,
  options: LoadOptions,
  use: (model: Model) => Promise<T>,
): Promise<T> {
  const context = 2 * tokens + 8;
  using model = await loadModel(path, {
    context,
    cacheDtype: 'f32',
    ...options,
    backend,
    signal,
    onNotice,
  });
  return await use(model);
}

const text =
  'The mill by the river grinds slowly, and the miller counts the sacks that the farmers bring from the valley. ' +
  'In winter the wheel stands still; then he reads, mends his tools, and writes letters to his sister in the town.';

/** Prompt tokens: of a text if the model has a tokenizer, else ids spread over the vocabulary. */
export function promptOf(model: Model, tokens: number): number[] {
  if (model.tokenizer) return model.tokenize(text).slice(0, tokens);
  const { vocabulary } = model.config;
  return Array.from({ length: tokens }, (_, i) => (1 + i * 7919) % vocabulary);
}
