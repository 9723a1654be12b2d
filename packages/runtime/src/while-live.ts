import { codeOf } from './error.js';

/**
 * Awaits work of a model. If the model is disposed meanwhile, a backend's DISPOSED (of a plan, a buffer) becomes the
 * model's own, which `needLive` throws.
 */
export async function whileLive<T>(needLive: () => void, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (codeOf(error) === 'DISPOSED') needLive();
    throw error;
  }
}
